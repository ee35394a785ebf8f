/**
 * The demo's small web: five hosts of one made-up domain (RFC 6761 reserves .test), each with something a crawler meets in earnest. Pure: a request in, a
 * reply out; what depends on how often something was asked for is told by `nth`. A sixth name leads to a private address and a seventh to nobody; they are
 * in ADDRESSES alone.
 */
import { prose } from './prose.ts';

export const DOMAIN = 'harbour.test';
export const START = `www.${DOMAIN}`;

/** Name → address. The last two are not served: nobody listens at the one, and the other is private. */
export const ADDRESSES: Readonly<Record<string, string>> = {
  [START]: '127.83.0.1',
  [`charts.${DOMAIN}`]: '127.83.0.2',
  [`ferry.${DOMAIN}`]: '127.83.0.3',
  [`market.${DOMAIN}`]: '127.83.0.4',
  [`wreck.${DOMAIN}`]: '127.83.0.5',
  [`cellar.${DOMAIN}`]: '10.83.0.6',
};
export const SERVED: readonly string[] = [START, `charts.${DOMAIN}`, `ferry.${DOMAIN}`, `market.${DOMAIN}`];

export interface SiteRequest {
  /** Name without port. */
  readonly host: string;
  /** Path and query. */
  readonly path: string;
  readonly port: number;
  /** How often this URL has been asked for, this time included. */
  readonly nth: number;
  readonly nowMs: number;
}

export interface SiteReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Time before the answer begins. */
  readonly delayMs: number;
  /** No answer comes at all. */
  readonly isSilent: boolean;
}

const CHARTS = 12;
const NEWS = 6;
const FERRY_PAGES = 3;
const FERRY_MS = 120;
/** More than the demo's fetch.maxBody. */
const LONG_BODY_BYTES = 260_000;
/** Months between now and the calendar page that is linked: near the edge of the window in which calendars are believed. */
const CALENDAR_AHEAD = 23;

const ROBOTS = `# robots.txt of the demo
User-agent: *
Disallow: /private/
Allow: /private/visitors
`;

export function answer(request: SiteRequest): SiteReply {
  if (request.host === START) return answerMain(request);
  if (request.host === `charts.${DOMAIN}`) return answerCharts(request);
  if (request.host === `ferry.${DOMAIN}`) return answerFerry(request);
  return request.host === `market.${DOMAIN}` ? answerMarket(request) : reply(421, 'no such host here');
}

function answerMain(request: SiteRequest): SiteReply {
  const { path, port, nowMs } = request;
  const fixed = MAIN_PAGES.get(path);
  if (fixed !== undefined) return fixed;
  if (path === '/') return page('Harbour', homeLinks(port, nowMs), prose('home', 8));
  const news = /^\/news\/(\d+)$/.exec(path)?.[1];
  if (news !== undefined) return page(`News ${news}`, Number(news) < NEWS ? [`/news/${Number(news) + 1}`, '/'] : ['/'], prose(path, 12));
  const month = /^\/calendar\/(\d{4})\/(\d{2})$/.exec(path);
  if (month !== null) return page(`Calendar ${month[1]}-${month[2]}`, [monthAfter(Number(month[1]), Number(month[2]))], prose(path, 8));
  if (path.startsWith('/berths/')) return page('Berths', ['north/south/', '/'], prose(path, 10));
  if (path === '/shop' || path.startsWith('/shop?')) return shop(path);
  return path === '/robots.txt' ? plain(ROBOTS) : notFound();
}

function homeLinks(port: number, nowMs: number): string[] {
  const other = (name: string, path = '/'): string => `http://${name}.${DOMAIN}:${port}${path}`;
  return [
    ...[
      '/about',
      '/news/1',
      '/news/1?utm_source=demo',
      '/shop',
      '/berths/',
      '/private/ledger',
      '/private/visitors',
      '/old-address',
      '/round/a',
    ],
    ...['/lost', '/engine-room', '/becalmed', '/long-scroll', '/chart.pdf', '/garbled', '/guestbook'],
    ...['/notices/tide-table', '/archive/tide-table', '/notices/storm', '/notices/storm-print'],
    monthAfter(new Date(nowMs).getUTCFullYear(), new Date(nowMs).getUTCMonth() + CALENDAR_AHEAD),
    ...['charts', 'ferry', 'market', 'wreck', 'cellar'].map((name) => other(name)),
    ...['http://10.83.0.7/', 'https://elsewhere.example/', 'mailto:pilot@harbour.test', 'http://[broken/'],
    `/search?${Array.from({ length: 9 }, (_, n) => `field${n}=x`).join('&')}`,
    `/signal/${'long-'.repeat(240)}`,
  ];
}

/** `month` may be beyond 12. */
function monthAfter(year: number, month: number): string {
  return `/calendar/${year + Math.floor(month / 12)}/${String((month % 12) + 1).padStart(2, '0')}`;
}

/** Each filter is a link that adds itself to the query: the usual way to millions of pages. */
function shop(path: string): SiteReply {
  const chosen = path.split('?')[1]?.split('&') ?? [];
  const filters = ['color=red', 'size=large', 'material=brass'].filter((filter) => !chosen.includes(filter));
  return page(
    'Shop',
    [...filters.map((filter) => `/shop?${[...chosen, filter].join('&')}`), '/'],
    prose(`shop ${[...chosen].sort().join()}`, 10),
  );
}

function answerCharts({ path, port }: SiteRequest): SiteReply {
  if (path === '/robots.txt') return plain('User-agent: *\nCrawl-delay: 0.15\n');
  const number = path === '/' ? 1 : Number(/^\/chart\/(\d+)$/.exec(path)?.[1] ?? 0);
  if (number < 1 || number > CHARTS) return notFound();
  const next = number < CHARTS ? [`/chart/${number + 1}`] : [];
  return page(`Chart ${number}`, [...next, '/', `http://${START}:${port}/`], prose(`chart ${number}`, 14));
}

function answerFerry({ path }: SiteRequest): SiteReply {
  if (path === '/robots.txt') return notFound();
  const number = path === '/' ? 1 : Number(/^\/crossing\/(\d+)$/.exec(path)?.[1] ?? 0);
  if (number < 1 || number > FERRY_PAGES) return notFound();
  const next = number < FERRY_PAGES ? [`/crossing/${number + 1}`] : [];
  return { ...page(`Crossing ${number}`, next, prose(`crossing ${number}`, 10)), delayMs: FERRY_MS };
}

/** Asks for patience once, then answers. */
function answerMarket({ path, nth }: SiteRequest): SiteReply {
  if (path === '/robots.txt') return notFound();
  if (path === '/') return page('Market', ['/stalls'], prose('market', 10));
  if (path !== '/stalls') return notFound();
  if (nth === 1) return { ...reply(429, 'too many at once'), headers: { 'content-type': 'text/plain', 'retry-after': '1' } };
  return page('Stalls', ['/'], prose('stalls', 10));
}

function page(title: string, links: readonly string[], text: string, head = ''): SiteReply {
  const items = links.map((href) => `<li><a href="${href.replaceAll('&', '&amp;')}">${title} leads on</a></li>`).join('\n');
  return reply(
    200,
    `<!DOCTYPE html>\n<html lang="en"><head><title>${title}</title>${head}</head>\n<body><h1>${title}</h1>\n<p>${text}</p>\n<ul>\n${items}\n</ul></body></html>\n`,
  );
}

function reply(status: number, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): SiteReply {
  return { status, body, headers: { 'content-type': 'text/html; charset=utf-8', ...headers }, delayMs: 0, isSilent: false };
}

function plain(text: string): SiteReply {
  return reply(200, text, { 'content-type': 'text/plain; charset=utf-8' });
}

function notFound(): SiteReply {
  return reply(404, '<!DOCTYPE html><title>Not found</title><p>There is no such page.</p>');
}

/** A gzip head, and then nothing that could be inflated. */
const BROKEN_GZIP = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
const TIDE_TABLE = page('Tide table', ['/'], prose('tide', 14));
const STORM = prose('storm', 40);

const MAIN_PAGES: ReadonlyMap<string, SiteReply> = new Map<string, SiteReply>([
  ['/about', page('About', ['/', '/news/1', '/news/2'], prose('about', 10))],
  ['/notices/tide-table', TIDE_TABLE],
  ['/archive/tide-table', TIDE_TABLE],
  ['/notices/storm', page('Storm', ['/'], STORM)],
  ['/notices/storm-print', page('Storm', ['/'], `${STORM} Printed.`)],
  ['/old-address', reply(301, '', { location: '/about' })],
  ['/round/a', reply(302, '', { location: '/round/b' })],
  ['/round/b', reply(302, '', { location: '/round/a' })],
  ['/engine-room', reply(500, 'the engine is broken')],
  ['/becalmed', { ...reply(200, ''), isSilent: true }],
  ['/long-scroll', page('Scroll', [], prose('scroll', LONG_BODY_BYTES / 70))],
  ['/chart.pdf', reply(200, '%PDF-1.7 not really', { 'content-type': 'application/pdf' })],
  ['/garbled', reply(200, BROKEN_GZIP, { 'content-encoding': 'gzip' })],
  ['/guestbook', page('Guests', ['/guestbook/2', '/guestbook/3'], prose('guests', 10), '<meta name="robots" content="nofollow">')],
  ['/private/visitors', page('Visitors', ['/'], prose('visitors', 10))],
]);
