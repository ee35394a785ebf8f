/**
 * How 64 bits are cut into tables so that no near pair is missed (Manku, Jain and Das Sarma 2007): the bits are cut into blocks, a table keeps
 * some of them as its key. Two hashes at most 3 bits apart differ in at most 3 blocks, so a table whose blocks are all equal exists when 3 of
 * 6 blocks are kept (20 tables, keys of 31 to 33 bits) as well as when 1 of 4 is (4 tables, keys of 16 bits).
 * Few tables cost little room and many candidates per probe (4 · n / 2^16), many tables the reverse (20 · n / 2^32).
 */
export interface NearLayout {
  readonly name: 'small' | 'large';
  readonly tables: readonly TableMask[];
  /** Whether so many bits are kept that most keys of a run are absent, and a bitmap of present keys pays. */
  readonly sparse: boolean;
}

/** The bits that a table keeps. */
export interface TableMask {
  readonly hi: number;
  readonly lo: number;
}

export function nearLayout(name: 'small' | 'large'): NearLayout {
  return name === 'small'
    ? { name, tables: combinations(cut(4), 1), sparse: false }
    : { name, tables: combinations(cut(6), 3), sparse: true };
}

/** 32 bits that are equal for two hashes when their kept bits are: the key by which a table is ordered. */
export function tableKey(mask: TableMask, hi: number, lo: number): number {
  let x = Math.imul(hi & mask.hi, 0x9e3779b1) ^ Math.imul((lo & mask.lo) ^ ((lo & mask.lo) >>> 15), 0x85ebca77);
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** Masks of `blocks` blocks of neighbouring bits, as even as 64 allows; block 0 at the top. */
function cut(blocks: number): TableMask[] {
  return Array.from({ length: blocks }, (_, block) => {
    const mask = { hi: 0, lo: 0 };
    for (let bit = Math.round((block * 64) / blocks); bit < Math.round(((block + 1) * 64) / blocks); bit++) {
      if (bit < 32) mask.hi |= 1 << (31 - bit);
      else mask.lo |= 1 << (63 - bit);
    }
    return mask;
  });
}

function combinations(blocks: readonly TableMask[], keep: number): TableMask[] {
  if (keep === 0) return [{ hi: 0, lo: 0 }];
  return blocks.flatMap((block, i) =>
    combinations(blocks.slice(i + 1), keep - 1).map((rest) => ({ hi: block.hi | rest.hi, lo: block.lo | rest.lo })),
  );
}
