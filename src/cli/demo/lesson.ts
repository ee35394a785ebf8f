/**
 * What a reader can learn from the demo's crawl: for each thing that the small web has in store, the line of pages.jsonl in which it ended, and one sentence
 * on why. Everything shown is read from the results of the crawl; a lesson whose line is not there says so.
 */
import { counted } from '../numbers.ts';
import { DOMAIN, START } from './site.ts';

/** What is read of a line of pages.jsonl (docs/PAGES-JSONL.md). */
export interface ResultLine {
  readonly url: string;
  readonly outcome: string;
  readonly reason?: string;
  readonly status?: number;
  readonly detail?: string;
  readonly attempts?: number;
  readonly duplicateOf?: string;
  readonly nearDuplicateOf?: string;
  readonly redirectTo?: string;
  readonly bytesBody?: number;
  readonly contentType?: string;
  readonly links?: { readonly found: number; readonly rejected: Readonly<Record<string, number>> };
}

export interface Lesson {
  readonly name: string;
  readonly url: string;
  /** Outcome, or the reason of a drop; '' when the crawl has no such line. */
  readonly ended: string;
  /** What the line says beyond that. */
  readonly facts: string;
  readonly why: string;
}

interface LessonPlan {
  readonly name: string;
  readonly host?: string;
  readonly path: string;
  readonly facts: (line: ResultLine) => string;
  readonly why: string;
}

const ofPath = (url: string | undefined): string => (url === undefined ? '' : url.replace(/^https?:\/\/[^/]+/, ''));

const PLANS: readonly LessonPlan[] = [
  { name: 'a page', path: '/', facts: ({ links }) => counted(links?.found ?? 0, 'link'), why: 'Stored in the WARC, its links followed.' },
  {
    name: 'robots.txt',
    path: '/private/ledger',
    facts: ({ detail }) => detail ?? '',
    why: 'The site forbids it; it was never asked for.',
  },
  {
    name: 'its exception',
    path: '/private/visitors',
    facts: () => 'longest match wins',
    why: 'The longer Allow rule beats the Disallow rule.',
  },
  {
    name: 'redirect',
    path: '/old-address',
    facts: ({ redirectTo }) => `to ${ofPath(redirectTo)}`,
    why: 'The target is a find of its own, through the same rules.',
  },
  {
    name: 'redirect in circles',
    path: '/round/b',
    facts: ({ redirectTo }) => `to ${ofPath(redirectTo)}`,
    why: 'The chain came back to itself: it ends.',
  },
  {
    name: 'exact copy',
    path: '/archive/tide-table',
    facts: ({ duplicateOf }) => `of ${ofPath(duplicateOf)}`,
    why: 'The same bytes: a WARC revisit record, no second copy.',
  },
  {
    name: 'near copy',
    path: '/notices/storm-print',
    facts: ({ nearDuplicateOf }) => `of ${ofPath(nearDuplicateOf)}`,
    why: 'Nearly the same text; kept, unless --near-duplicates skip.',
  },
  {
    name: 'missing page',
    path: '/lost',
    facts: ({ status }) => `status ${status}`,
    why: 'A broken link; "via" in pages.jsonl is the page it stands on.',
  },
  {
    name: 'server error',
    path: '/engine-room',
    facts: ({ attempts }) => counted(attempts ?? 0, 'attempt'),
    why: 'Tried again with a pause, then given up.',
  },
  {
    name: 'no answer',
    path: '/becalmed',
    facts: ({ attempts }) => counted(attempts ?? 0, 'attempt'),
    why: 'The first byte did not come in time.',
  },
  {
    name: 'long page',
    path: '/long-scroll',
    facts: ({ bytesBody }) => `${counted(bytesBody ?? 0, 'byte')} kept`,
    why: 'Cut at fetch.maxBody and marked.',
  },
  {
    name: 'other type',
    path: '/chart.pdf',
    facts: ({ contentType }) => contentType ?? '',
    why: 'Not in fetch.accept; broken off after its head.',
  },
  { name: 'broken coding', path: '/garbled', facts: ({ detail }) => detail ?? '', why: 'It says gzip and is not.' },
  {
    name: 'nofollow',
    path: '/guestbook',
    facts: ({ links }) => `${counted(links?.rejected['nofollow'] ?? 0, 'link')} not followed`,
    why: 'The page asks for it in meta robots.',
  },
  {
    name: '429',
    host: 'market',
    path: '/stalls',
    facts: ({ attempts }) => counted(attempts ?? 0, 'attempt'),
    why: 'Retry-After was waited for, and the host got a longer gap.',
  },
  {
    name: 'slow host',
    host: 'ferry',
    path: '/',
    facts: () => 'five times as long a pause',
    why: 'The gap grows with the time an answer takes.',
  },
  {
    name: 'dead host',
    host: 'wreck',
    path: '/',
    facts: () => 'nobody listens',
    why: 'Set aside after its faults, tried again, then retired with all its URLs.',
  },
  {
    name: 'private address',
    host: 'cellar',
    path: '/',
    facts: () => 'in 10.0.0.0/8',
    why: 'A public page must not lead a crawler into a private network.',
  },
];

export function lessonsOf(lines: readonly ResultLine[], port: number): Lesson[] {
  return PLANS.map(({ name, host, path, facts, why }) => {
    const url = `http://${host === undefined ? START : `${host}.${DOMAIN}`}:${port}${path}`;
    // The last one counts: a redirect may have ended more than once.
    const line = lines.findLast((one) => one.url === url);
    if (line === undefined) return { name, url, ended: '', facts: 'not met', why };
    return { name, url, ended: line.reason ?? line.outcome, facts: facts(line), why };
  });
}
