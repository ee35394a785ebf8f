/**
 * One page of the benchmark web. The links that every crawler must manage (a tree over the host's pages, a tree over the hosts' front pages) are plain;
 * all the others are written in the forms that real pages use and that crawlers get wrong, so that a mistake shows as a fetch of a second spelling,
 * of a forbidden page or of a page that does not exist, and never as a page that could not be found.
 */
import type { Seeded } from '../../test/support/seeded.ts';
import { ACCENT_PAGE, BASE_PAGE, CLOSED_PAGES, TILDE_PAGE, TRACKED_PAGES, type WebLayout } from './layout.ts';
import { type Prose, proseOf } from './prose.ts';

const NAV_LINKS = 12;
const FOOT_LINKS = 12;
const SAME_HOST_SHARE = 0.6;
/** One host in ten has link text inside <style> and <textarea>: following it is a mistake, but must not weigh on a comparison of speeds. */
const BAITED_HOSTS = 10;

/** Counters over a whole web; what was written, by form. */
export interface LinkCounts {
  links: number;
  sameHost: number;
  otherHost: number;
  relative: number;
  withoutScheme: number;
  upperCaseScheme: number;
  upperCaseTag: number;
  quotes: number;
  tracked: number;
  fragment: number;
  otherSpelling: number;
  forbidden: number;
  notLinks: number;
}

export function noCounts(): LinkCounts {
  return {
    links: 0,
    sameHost: 0,
    otherHost: 0,
    relative: 0,
    withoutScheme: 0,
    upperCaseScheme: 0,
    upperCaseTag: 0,
    quotes: 0,
    tracked: 0,
    fragment: 0,
    otherSpelling: 0,
    forbidden: 0,
    notLinks: 0,
  };
}

/** What the pages of one host share. */
export interface HostFrame {
  readonly style: string;
  readonly head: string;
  readonly foot: string;
}

export function frameOf(web: WebLayout, words: readonly string[], host: number): HostFrame {
  const r = web.random(2, host);
  const prose = proseOf(words, r);
  let style = '';
  for (let i = 0; i < 45; i++)
    style += `.${r.pick(words)}${i}>.${r.pick(words)}{margin:${r.int(40)}px ${r.int(9)}em;color:#${(0x100000 + r.int(0xe00000)).toString(16)}}\n`;
  const baits = host % BAITED_HOSTS === 0;
  if (baits) style += '/* <a href="/never/style.html">not a link</a> */';
  const nav = Array.from({ length: NAV_LINKS }, (_, i) => `<li><a class="nav-item" href="${web.path(host, i)}">${prose.title(1)}</a></li>`);
  const foot = Array.from(
    { length: FOOT_LINKS },
    () => `<a href="${web.path(host, r.int(web.options.pages))}" class="foot">${prose.title(2)}</a>`,
  );
  return {
    style,
    head: `<header class="top"><nav aria-label="Sections"><ul>\n${nav.join('\n')}\n</ul></nav>
<form action="/never/form" method="get"><input type="search" name="q"><textarea name="more">${baits ? '<a href="/never/textarea.html">x</a>' : ''}</textarea></form></header>\n`,
    foot: `<footer class="end">\n${foot.join(' &middot;\n')}\n<p>&copy; 2024 ${prose.title(2)}</p></footer>\n`,
  };
}

export function pageOf(web: WebLayout, words: readonly string[], frame: HostFrame, host: number, page: number, counts: LinkCounts): string {
  const r = web.random(3, host, page);
  const prose = proseOf(words, r);
  const self = web.path(host, page);
  const title = prose.title(5);
  const based = page === BASE_PAGE;
  const writer = new LinkWriter(web, r, host, based ? '/' : self, counts);
  const { inText, aside } = chooseLinks(web, r, writer, host, page);
  const bytes = Math.floor((web.options.kbMin + r.next() * (web.options.kbMax - web.options.kbMin)) * 1_024);
  const head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} &lt;a href="/never/title.html"&gt;</title>
<meta name="viewport" content="width=device-width">
<meta name="description" content="${prose.title(22)}">
<meta property="og:title" content="${title}">
${based ? `<base href="${web.origin(host)}/">\n` : ''}<style>${frame.style}</style>
<script>${script(r, words, 1_400)}</script>
</head>
<body id="top" class="p${page}">
${frame.head}<main><article>
<h1>${title}</h1>
<p class="by">By <b>${prose.title(2)}</b>, <time datetime="2024-05-${10 + (page % 18)}">${1 + (page % 28)} May</time> &amp; later</p>
`;
  const tail = `</article>
<aside><h3>${prose.title(2)}</h3><ul>
${aside.map((link) => `<li class="rel"><span>${r.int(900)}</span> ${anchor(r, link, prose.words(3), counts)}</li>`).join('\n')}
</ul><p><a href="mailto:desk@example.test">post</a> <a href="javascript:void(0)">fold</a> <a href="tel:+15550100">call</a> <a href="#top">up</a> <a name="end">end</a></p></aside>
</main>
${frame.foot}<script>${script(r, words, 700)}</script>
</body>
</html>
`;
  counts.links += NAV_LINKS + FOOT_LINKS;
  counts.sameHost += NAV_LINKS + FOOT_LINKS;
  return head + article(r, prose, inText, bytes - head.length - tail.length, counts) + tail;
}

/** Paragraphs until `bytes` are reached, with all the links spread over them. */
function article(r: Seeded, prose: Prose, links: readonly string[], bytes: number, counts: LinkCounts): string {
  let text = '';
  let next = 0;
  let section = 0;
  while (text.length < bytes || next < links.length) {
    // As many links as the share of the text that is written; all that are left when the space has run out.
    const due = text.length >= bytes ? links.length : Math.floor((links.length * text.length) / bytes) + 1;
    if (r.chance(0.16)) text += `<h2 id="s${section++ % 9}">${prose.title(3)}</h2>\n`;
    text += '<p>';
    for (let i = 2 + r.int(4); i > 0; i--) {
      text += prose.sentence();
      if (r.chance(0.1)) text += `<em>${prose.words(2)}</em> `;
      if (r.chance(0.06)) text += `<strong title="a > b">${prose.words(2)}</strong>&nbsp;`;
    }
    for (let link = links[next]; next < due && link !== undefined; link = links[++next])
      text += `${anchor(r, link, prose.words(2), counts)} `;
    text += '</p>\n';
    if (r.chance(0.05)) {
      text += `<!-- <a href="/never/comment.html">${prose.words(3)}</a> -->\n`;
      counts.notLinks++;
    }
    if (r.chance(0.05)) {
      text += `<figure data-card='<a href="/never/attribute.html">x</a>'><img alt="${prose.words(3)}" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></figure>\n`;
      counts.notLinks++;
    }
    if (r.chance(0.04)) text += `<table><tr><th>${prose.words(1)}<th>${prose.words(1)}<tr><td>${r.int(9_999)}<td>${r.int(9_999)}</table>\n`;
  }
  return text;
}

function script(r: Seeded, words: readonly string[], bytes: number): string {
  let text = `(function(w){var c={"n":${r.int(1e9)},"m":{`;
  while (text.length < bytes) text += `"${r.pick(words)}":${r.chance(0.5) ? r.int(100_000) : `"${r.pick(words)}"`},`;
  return `${text}"z":0}};w.c=c;if(1<2&&c.n<0)document.write('<a href="/never/script.html">x<\\/a>')})(window);`;
}

function chooseLinks(
  web: WebLayout,
  r: Seeded,
  writer: LinkWriter,
  host: number,
  page: number,
): { readonly inText: string[]; readonly aside: string[] } {
  const { pages, hosts, links } = web.options;
  const inText: string[] = [];
  for (let child = 4 * page + 1; child <= 4 * page + 4 && child < pages; child++) inText.push(writer.plain(host, child));
  const sameHost = Math.round(links * SAME_HOST_SHARE) - NAV_LINKS - FOOT_LINKS;
  while (inText.length < sameHost) inText.push(writer.varied(host, Math.floor(r.next() ** 2 * pages)));
  if (web.closesPrivate(host) && r.chance(0.5)) inText.push(writer.closed(host, r.int(CLOSED_PAGES)));
  const aside: string[] = [];
  const otherHosts = hosts === 1 ? 0 : Math.round(links * (1 - SAME_HOST_SHARE));
  if (page === 0 && otherHosts > 0) {
    for (let child = 8 * host + 1; child <= 8 * host + 8 && child < hosts; child++) aside.push(writer.plain(child, 0));
    if (host !== 0) aside.push(writer.plain(0, 0)); // so that every front page leads to every other
  }
  while (aside.length < otherHosts) {
    const drawn = r.chance(0.3) ? Math.floor(r.next() ** 3 * hosts) : r.int(hosts);
    aside.push(writer.varied(drawn === host ? (drawn + 1) % hosts : drawn, r.chance(0.3) ? 0 : Math.floor(r.next() ** 2 * pages)));
  }
  const closedHost = r.int(Math.ceil(hosts / 2)) * 2;
  if (r.chance(0.2)) aside.push(writer.closed(closedHost, 0, host !== closedHost));
  return { inText, aside };
}

/** Writes the href of a link in one of its many forms. */
class LinkWriter {
  readonly #web: WebLayout;
  readonly #r: Seeded;
  readonly #host: number;
  readonly #basePath: string;
  readonly #counts: LinkCounts;

  constructor(web: WebLayout, r: Seeded, host: number, basePath: string, counts: LinkCounts) {
    this.#web = web;
    this.#r = r;
    this.#host = host;
    this.#basePath = basePath;
    this.#counts = counts;
  }

  plain(host: number, page: number): string {
    this.#count(host);
    const path = this.#web.path(host, page);
    return host === this.#host ? path : this.#web.origin(host) + path;
  }

  closed(host: number, index: number, absolute = false): string {
    this.#count(host);
    this.#counts.forbidden++;
    const path = this.#web.closedPath(host, index);
    return absolute ? this.#web.origin(host) + path : path;
  }

  varied(host: number, page: number): string {
    this.#count(host);
    const path = this.#spelling(page, this.#web.path(host, page));
    let href = host === this.#host ? this.#onThisHost(host, path) : this.#onOtherHost(host, path);
    if (page >= 1 && page <= TRACKED_PAGES && this.#r.chance(0.3)) {
      href += `?${this.#web.tracker(host, page)}`;
      this.#counts.tracked++;
    }
    if (this.#r.chance(0.08)) {
      href += `#s${this.#r.int(9)}`;
      this.#counts.fragment++;
    }
    return href;
  }

  #count(host: number): void {
    this.#counts.links++;
    if (host === this.#host) this.#counts.sameHost++;
    else this.#counts.otherHost++;
  }

  #spelling(page: number, path: string): string {
    const x = this.#r.next();
    if ((page !== TILDE_PAGE && page !== ACCENT_PAGE) || x > 0.4) return path;
    this.#counts.otherSpelling++;
    if (page === TILDE_PAGE) return path.replace('~', '%7E');
    return path.replace('%C3%A9', x < 0.25 ? 'é' : '%c3%a9');
  }

  #onThisHost(host: number, path: string): string {
    const x = this.#r.next();
    if (x < 0.45) {
      this.#counts.relative++;
      const relative = relativeHref(this.#basePath, path);
      return x < 0.06 && !relative.startsWith('.') ? `./${relative}` : relative;
    }
    return x < 0.9 ? path : this.#web.origin(host) + path;
  }

  #onOtherHost(host: number, path: string): string {
    const x = this.#r.next();
    const { port } = this.#web.options;
    if (x < 0.06) {
      this.#counts.withoutScheme++;
      return `//${this.#web.address(host)}:${port}${path}`;
    }
    if (x < 0.12) {
      this.#counts.upperCaseScheme++;
      return `HTTP://${this.#web.address(host)}:${port}${path}`;
    }
    return this.#web.origin(host) + path;
  }
}

/** The shortest reference without a leading slash (RFC 3986 section 5.2 undoes it). */
function relativeHref(from: string, to: string): string {
  const base = from.split('/').slice(1, -1);
  const target = to.split('/').slice(1);
  let shared = 0;
  while (shared < base.length && shared < target.length - 1 && base[shared] === target[shared]) shared++;
  return '../'.repeat(base.length - shared) + target.slice(shared).join('/') || './';
}

function anchor(r: Seeded, href: string, text: string, counts: LinkCounts): string {
  const x = r.next();
  if (x < 0.04) {
    counts.upperCaseTag++;
    return `<A HREF="${href}" TITLE="${text}">${text}</A>`;
  }
  if (x < 0.12) counts.quotes++;
  if (x < 0.07) return `<a class='in' href='${href}'>${text}</a>`;
  if (x < 0.1 && !href.includes('=')) return `<a href=${href} class=in>${text}</a>`;
  if (x < 0.12) return `<a\n  class="in"\n  href = "\n ${href}\t"\n>${text}</a>`;
  if (x < 0.3) return `<a class="in" title="${text} > all" href="${href}" data-n="${r.int(1e6)}">${text}</a>`;
  return `<a href="${href}" class="in">${text}</a>`;
}
