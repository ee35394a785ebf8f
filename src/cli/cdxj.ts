/**
 * `portolan cdxj DIR`: the index of a crawl's WARC files, derived from them. Nothing of it is written while a crawl runs, so there is nothing that a crash could
 * leave wrong: make it again when the crawl has gone on. It indexes what the last commits hold, also of a crawl that runs.
 */
import { basename, join } from 'node:path';
import { cdxjLine } from '../output/cdxj.ts';
import { openCrawlDir } from './crawl-dir.ts';
import { EXIT } from './exit-codes.ts';
import { openSink, type Sink, untilDone } from './export/sink.ts';
import { SortedLines } from './export/sorted-lines.ts';
import { recordsOf, warcFiles } from './export/warc-files.ts';

const PIECE_CHARS = 1 << 18;
const RECORDS_PER_TURN = 500;

export async function cdxj(dirArgument: string, flags: { readonly out?: string }): Promise<number> {
  const crawl = openCrawlDir(dirArgument);
  const open = () => openSink(flags.out ?? join(crawl.dir, 'warc', 'index.cdxj'));
  return untilDone(open, EXIT, async (sink) => {
    const lines = new SortedLines();
    try {
      let records = 0;
      for (const file of warcFiles(crawl)) {
        for (const record of recordsOf(file)) {
          const line = cdxjLine(record, basename(file.name));
          if (line !== undefined) lines.add(line);
          if (++records % RECORDS_PER_TURN === 0) await new Promise((turn) => setImmediate(turn));
        }
      }
      await writeLines(lines.sorted(), sink);
    } finally {
      lines.close();
      crawl.close();
    }
  });
}

async function writeLines(lines: Iterable<string>, sink: Sink): Promise<void> {
  let piece = '';
  for (const line of lines) {
    piece += line;
    if (piece.length < PIECE_CHARS) continue;
    await sink.write(Buffer.from(piece, 'utf8'));
    piece = '';
  }
  await sink.write(Buffer.from(piece, 'utf8'));
}
