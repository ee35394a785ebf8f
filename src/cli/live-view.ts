/**
 * The live view of a crawl on a terminal: a few lines that are drawn over in place, and text that scrolls by above them.
 *
 * Each frame is one write, so that nothing flickers, and ends at the left edge of the line below the block, where a terminal's cursor belongs: the
 * cursor is never hidden, so there is nothing to give back when the process ends, however it ends. Lines are cut to the width (a wrapped line could not
 * be drawn over) and are plain ASCII; colour is left out on request and never carries meaning of its own. Only cursor-up, erase-line and erase-below are
 * used, which every terminal but a dumb one has.
 */

import { sum } from '../engine/accounting.ts';
import { durationInWords } from '../engine/eta.ts';
import type { CrawlView } from '../engine/watch.ts';
import { bytes, count, counted, kinds, printable, rate } from './numbers.ts';

export interface Screen {
  write(text: string): void;
  columns(): number;
  rows(): number;
}

/** Narrower than this nothing can be said. */
const COLUMNS_MIN = 20;
const BOLD = '\x1b[1m';
const DIM = '\x1b[2m';
const RESET = '\x1b[0m';

export class LiveBlock {
  readonly #screen: Screen;
  readonly #hasColour: boolean;
  /** Visible lengths of the lines that are on the screen. */
  #drawn: number[] = [];
  #lines: readonly string[] = [];

  constructor(screen: Screen, hasColour: boolean) {
    this.#screen = screen;
    this.#hasColour = hasColour;
  }

  draw(lines: readonly string[]): void {
    this.#lines = lines;
    this.#screen.write(this.#toTop() + this.#frame());
  }

  /** Text that stays: it scrolls by above the block. */
  say(text: string): void {
    this.#screen.write(`${this.#toTop()}\x1b[J${printable(text)}\n${this.#frame()}`);
  }

  /** Takes the block away; the cursor stands where it began. Idempotent. */
  end(): void {
    if (this.#drawn.length > 0) this.#screen.write(`${this.#toTop()}\x1b[J`);
    this.#drawn = [];
    this.#lines = [];
  }

  /** To the left edge of the block's first line. A terminal that has become narrower has wrapped what was drawn. */
  #toTop(): string {
    const columns = Math.max(1, this.#screen.columns());
    const rows = this.#drawn.reduce((a, length) => a + Math.max(1, Math.ceil(length / columns)), 0);
    return rows === 0 ? '' : `\r\x1b[${rows}A`;
  }

  #frame(): string {
    const columns = Math.max(COLUMNS_MIN, this.#screen.columns());
    const shown = this.#lines.slice(0, Math.max(1, this.#screen.rows() - 1)).map((line) => cut(printable(line), columns - 1));
    this.#drawn = shown.map((line) => line.length);
    return `${shown.map((line, at) => `${this.#paint(line, at)}\x1b[K\n`).join('')}${shown.length > 0 ? '\x1b[J' : ''}`;
  }

  #paint(line: string, at: number): string {
    if (!this.#hasColour) return line;
    if (at === 0) return BOLD + line + RESET;
    // A line begins with what it tells of, up to two spaces.
    const label = line.indexOf('  ');
    return label <= 0 ? line : `${DIM}${line.slice(0, label)}${RESET}${line.slice(label)}`;
  }
}

export function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 3))}...`;
}

const LABEL_WIDTH = 11;

/** The lines of the block, most important first: on a low terminal the last ones are left out. */
export function liveLines(view: CrawlView, columns: number): string[] {
  const { all, rates, inFlight, ceiling, errors } = view;
  const isNarrow = columns < 72;
  const label = (name: string, text: string): string => `${name.padEnd(LABEL_WIDTH)}  ${text}`;
  const ceilingText = ceiling > 0 ? ` of ${count(ceiling)}` : '';
  const hosts = `${count(view.active)} of ${counted(view.hosts, 'host')} at work`;
  const speed = `${rate(rates.pagesPerS)} pages/s`;
  const head = isNarrow
    ? `${counted(view.pages, 'page')}, ${speed}`
    : `${counted(view.pages, 'page')}, ${speed}, ${bytes(rates.bytesPerS)}/s, running for ${durationInWords(view.ranMs)}`;
  const lines = [
    head,
    label('limited by', view.constraintWords),
    label('queue', isNarrow ? counted(all.queued, 'URL') : `${counted(all.queued, 'URL')}, ${view.etaWords}`),
    label('in flight', `${count(inFlight)}${ceilingText}${isNarrow ? '' : `, ${hosts}`}${nextText(view)}`),
    label(
      'fetched',
      `${counted(sum(all.fetched), 'URL')}, ${bytes(view.wireBytes)}${sum(all.dropped) > 0 ? `, ${count(sum(all.dropped))} dropped` : ''}`,
    ),
    label('errors', sum(errors) === 0 ? 'none' : `${count(sum(errors))}: ${kinds(errors, isNarrow ? 2 : 5)}`),
  ];
  if (isNarrow) lines.splice(3, 0, label('time left', view.etaWords));
  if (all.unaccounted !== 0) lines.push(label('WARNING', `${counted(all.unaccounted, 'URL is', 'URLs are')} unaccounted for`));
  return lines;
}

/** One line for a log. */
export function plainLine(view: CrawlView): string {
  const { all, rates, errors } = view;
  const failed = sum(errors);
  const parts = [
    `${counted(view.pages, 'page')} (${rate(rates.pagesPerS)}/s)`,
    `${count(all.queued)} queued`,
    `${count(view.inFlight)}${view.ceiling > 0 ? ` of ${count(view.ceiling)}` : ''} in flight`,
    `${count(view.active)} of ${counted(view.hosts, 'host')}`,
    bytes(view.wireBytes),
    failed === 0 ? 'no errors' : `${counted(failed, 'error')} (${kinds(errors, 3)})`,
  ];
  return printable(`${parts.join(', ')}; limited by ${view.constraintWords}; ${view.etaWords}${nextText(view)}`);
}

/** Said when nothing may be fetched for a while. */
function nextText(view: CrawlView): string {
  const { nextFetchMs, measures, all } = view;
  if (measures.paused !== '' || !Number.isFinite(nextFetchMs) || nextFetchMs <= 2_000 || all.queued === 0) return '';
  return `, next fetch in ${durationInWords(nextFetchMs)}`;
}
