/**
 * A list of domains by rank, from which a URL's priority takes half of its score (row B9). The lists that are published (Tranco, Majestic, Umbrella)
 * are read as they come: one domain a line with its rank, in either order; a header names the columns when there are more.
 *
 * A domain of rank r of a list whose last rank is n counts 1 − ln r / ln(n + 1): 1 for the first, half of it at the square root of n, about 0 for the last
 * and for every domain that is not listed. What it does not do: find out a registrable domain (the caller asks for the host, then for its domain).
 */
import { PortolanError } from '../core/errors.ts';

/** Lines that are read; a list of ten million domains takes about 1 GB of memory. */
const LINES_MAX = 10_000_000;
const DOMAIN_COLUMNS = ['domain', 'host', 'hostname'];
const RANK_COLUMNS = ['rank', 'globalrank', 'position'];

export class DomainRanks {
  readonly #ranks: ReadonlyMap<string, number>;
  readonly #scale: number;

  private constructor(ranks: ReadonlyMap<string, number>, last: number) {
    this.#ranks = ranks;
    this.#scale = Math.log(last + 1);
  }

  static none(): DomainRanks {
    return new DomainRanks(new Map(), 1);
  }

  /** Throws PORTOLAN_CONFIG_INVALID with the line that cannot be understood. A domain that is listed twice keeps its better rank. */
  static parse(text: string, file: string): DomainRanks {
    const ranks = new Map<string, number>();
    let columns: Columns | undefined;
    let last = 1;
    let line = 0;
    for (const raw of text.split('\n')) {
      line++;
      const cells = raw
        .trim()
        .split(/[,;\t]/)
        .map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
      if (cells.length === 1 && (cells[0] === '' || cells[0]!.startsWith('#'))) continue;
      if (columns === undefined) {
        columns = columnsOfHeader(cells);
        if (columns !== undefined) continue;
        columns = columnsOfRow(cells);
      }
      const rank = Number(cells[columns?.rank ?? -1]);
      const domain = cells[columns?.domain ?? -1]?.toLowerCase().replace(/\.$/, '') ?? '';
      if (!Number.isInteger(rank) || rank < 1 || !/^[^\s/:]+$/.test(domain)) throw unreadable(file, line, raw);
      if (ranks.size >= LINES_MAX && !ranks.has(domain)) throw tooLong(file);
      ranks.set(domain, Math.min(rank, ranks.get(domain) ?? rank));
      last = Math.max(last, rank);
    }
    return new DomainRanks(ranks, last);
  }

  get size(): number {
    return this.#ranks.size;
  }

  /** 0 … 1. `host` without a port. */
  of(host: string, domain: string): number {
    const rank = this.#ranks.get(host) ?? this.#ranks.get(domain);
    return rank === undefined ? 0 : Math.max(0, 1 - Math.log(rank) / this.#scale);
  }
}

interface Columns {
  readonly rank: number;
  readonly domain: number;
}

function columnsOfHeader(cells: readonly string[]): Columns | undefined {
  const names = cells.map((cell) => cell.toLowerCase());
  const rank = names.findIndex((name) => RANK_COLUMNS.includes(name));
  const domain = names.findIndex((name) => DOMAIN_COLUMNS.includes(name));
  return rank < 0 || domain < 0 ? undefined : { rank, domain };
}

function columnsOfRow(cells: readonly string[]): Columns | undefined {
  const rank = cells.findIndex((cell) => /^\d+$/.test(cell));
  if (rank < 0 || cells.length < 2) return undefined;
  return { rank, domain: rank === 0 ? 1 : 0 };
}

function unreadable(file: string, line: number, text: string): PortolanError {
  return new PortolanError('PORTOLAN_CONFIG_INVALID', `${file} line ${line}: "${text.slice(0, 80).trim()}" is no domain with its rank`, {
    remedy: 'write one domain a line as RANK,DOMAIN, or give a header that names the columns rank and domain',
  });
}

function tooLong(file: string): PortolanError {
  return new PortolanError('PORTOLAN_CONFIG_INVALID', `${file} lists more than ${LINES_MAX} domains`, { remedy: 'keep the first of them' });
}
