/**
 * Output files that are shorter or other than the last commit says: pages whose body or line is gone are fetched again, lost lines of dropped
 * URLs are written again. Each is counted as lost output, and said; nothing is passed over.
 */
import { counted } from '../core/counted.ts';
import type { FateRow, PageRow } from '../core/records.ts';
import { encodeDropLine } from '../output/drop-line.ts';
import type { SegmentOpenReport } from '../output/segment-writer.ts';
import { keyHex, splitUrl } from '../url/index.ts';
import { bump } from './accounting.ts';
import { entryOfPage } from './entries.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';

type OutputState = Pick<ShardState, 'marks' | 'output' | 'frontier' | 'totals' | 'unwritten'>;

export function restoreLostOutput(env: ShardEnv, state: OutputState): void {
  const { frontier, totals, unwritten } = state;
  const lost = new Map<string, PageRow>();
  for (const page of [...pagesWithoutBody(env, state), ...pagesWithoutLine(env, state)])
    lost.set(`${page.hostId}/${keyHex(page.keyHi, page.keyLo)}`, page);
  for (const page of lost.values()) {
    const parts = splitUrl(page.url);
    const memory = frontier.host(parts.hostKey);
    if (memory === undefined) continue;
    memory.record.fetched--;
    bump(totals.fetched, page.outcome, -1);
    totals.lostOutput++;
    unwritten.removePage(page);
    frontier.requeue(memory, entryOfPage(page, parts));
    unwritten.mark();
  }
}

/** What became of a file, as the middle of a sentence. */
export function lossOf(report: SegmentOpenReport): string {
  return report.short
    ? `has lost ${counted(report.missingBytes, 'byte that was', 'bytes that were')} committed`
    : 'is not what was committed';
}

function pagesWithoutBody(env: ShardEnv, state: OutputState): PageRow[] {
  const { warc } = state.output.reports;
  const mark = state.marks.warc;
  if (mark === undefined || warc === undefined || (!warc.short && !warc.damaged)) return [];
  const lost = env.ports.store.pagesBeyond(mark.name, warc.believedBytes);
  env.events.notice(env.id, `${mark.name} ${lossOf(warc)}; ${counted(lost.length, 'page is', 'pages are')} fetched again`);
  return lost;
}

function pagesWithoutLine(env: ShardEnv, state: OutputState): PageRow[] {
  const { store } = env.ports;
  const { pages } = state.output.reports;
  if (pages === undefined || (!pages.short && !pages.damaged)) return [];
  const keys = state.output.lineKeys();
  const lost: PageRow[] = [];
  store.scanPages((page) => {
    if (!keys.has(page.keyHi, page.keyLo)) lost.push(page);
  });
  const drops: FateRow[] = [];
  store.scanFates((fate) => {
    if (!keys.has(fate.keyHi, fate.keyLo)) drops.push(fate);
  });
  for (const fate of drops) writeLineAgain(state, fate);
  if (drops.length > 0) state.unwritten.mark();
  env.events.notice(
    env.id,
    `pages.jsonl ${lossOf(pages)}; ${counted(lost.length, 'page is', 'pages are')} fetched again, ${counted(drops.length, 'line of a dropped URL is', 'lines of dropped URLs are')} written again`,
  );
  return lost;
}

function writeLineAgain(state: OutputState, fate: FateRow): void {
  const { url, reason, via, depth, atMs } = fate;
  const key = keyHex(fate.keyHi, fate.keyLo);
  state.output.appendDrop(encodeDropLine({ url, key, host: splitUrl(url).hostKey, reason, detail: '', via, depth, atMs }));
  state.totals.lostOutput++;
}
