import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHtml } from '../../src/parse/html.ts';
import { MAX_META_ROBOTS, MAX_TITLE_CHARS } from '../../src/parse/page.ts';
import { refreshUrl } from '../../src/parse/refresh.ts';
import { TAG_NAMES, TAG_SLOTS } from '../../src/parse/tags.ts';
import { hrefs, joined, mainOf, OPTIONS, type Parts, parsePage, readVectors, resolved } from './support.ts';

interface LinkCase {
  readonly id: string;
  readonly promise: string;
  readonly url: string;
  readonly html: Parts;
  readonly follow: readonly string[];
  readonly mustNotFollow: readonly string[];
  readonly variants?: readonly { readonly html: Parts; readonly target: string | null }[];
}

for (const vector of readVectors<LinkCase>('html-links.json')) {
  test(`R-A4 ${vector.id}: ${vector.promise}`, () => {
    const found = resolved(joined(vector.html), vector.url);
    for (const url of vector.follow) assert.ok(found.includes(url), `${url} is a link`);
    for (const url of vector.mustNotFollow) assert.ok(!found.includes(url), `${url} is no link`);
    for (const variant of vector.variants ?? []) {
      assert.deepEqual(resolved(joined(variant.html), vector.url), variant.target === null ? [] : [variant.target], joined(variant.html));
    }
  });
}

test('every known tag has a slot of its own', () => {
  const taken = [...TAG_SLOTS].filter((index) => index !== 0);
  assert.equal(taken.length, TAG_NAMES.length - 1);
});

test('a comment ends where the HTML standard ends it', () => {
  for (const comment of [
    '<!-->',
    '<!--->',
    '<!---->',
    '<!-- > -->',
    '<!-- --!>',
    '<!--a--b-->',
    '<!----!>',
    '<!x <a href=n>',
    '<?php <a href=n>',
    '</ <a href=n>',
    '</>',
    '<!>',
  ]) {
    assert.deepEqual(hrefs(`${comment}<a href=y>`), ['y'], comment);
  }
  for (const open of [
    '<!-- <a href=n>',
    '<!--',
    '<!-- --',
    '<!- ',
    '<a href=n',
    '<a href="n',
    "<a href='n>",
    '<a',
    '<',
    '</',
    '</a',
    '<!',
    '<?',
    '<a href',
    '<a href=',
  ]) {
    assert.deepEqual(hrefs(open), [], open);
  }
});

test('a < that begins no tag is text', () => {
  const page = parsePage('a < b <3 <- <<a href=y>c</a> <');
  assert.deepEqual([page.links[0]?.href, page.text], ['y', 'a < b <3 <- <c <']);
});

test('attributes are read in every way they may be written, and the first of two counts', () => {
  for (const tag of [
    '<a href=y>',
    '<A HREF=y>',
    "<a\nhref\n=\n'y'\n>",
    '<a/href="y"/>',
    '<a x"=">" href=y>',
    '<a =x href=y>',
    '<a a=b/ href=y>',
    '<a href=y href=n>',
    '<a x=">"href=y>',
    '<a hreflang=n data-href=n href=y>',
    '<a\fhref=y>',
    '<a\r\nhref="\r\ny\t">',
  ]) {
    assert.deepEqual(hrefs(tag), ['y'], tag);
  }
  assert.deepEqual(hrefs('<a href><a href=""><a href=" #x "><ab href=n><a- href=n><a:b href=n>'), ['']);
});

test('character references are decoded by the rules of attributes in href, by those of text in title', () => {
  assert.deepEqual(hrefs('<a href="?a&copy=1&copy;&copy&amp;b&#x26;c&#38d&notit;&#0;&unknown;">'), [
    '?a&copy=1©©&b&c&d&notit;\ufffd&unknown;',
  ]);
  assert.equal(parsePage('<title>a&copy=1 &notit; &#x80; &lt;b></title>').title, 'a©=1 ¬it; € <b>');
});

test('text of raw text elements, comments and scripts holds no links, that of noscript does', () => {
  for (const name of ['script', 'style', 'xmp', 'iframe', 'noembed', 'noframes', 'title', 'textarea']) {
    assert.deepEqual(hrefs(`<${name}><a href=n></x></${name}x></ ${name}></${name.toUpperCase()}\n><a href=y>`), ['y'], name);
    assert.deepEqual(hrefs(`<${name}><a href=n></${name}`), [], name);
  }
  assert.deepEqual(hrefs('<noscript><a href=y></noscript><plaintext><a href=n></plaintext><a href=n>'), ['y']);
});

test('a script within a comment within a script hides one end tag', () => {
  const cases = [
    ['<!--</script>', true],
    ['<!--<script></script>', false],
    ['<!--<script></script></script>', true],
    ['<!--<script>--></script>', true],
    ['<!--<script></script>--></script>', true],
    ['<!-->', false],
    ['<!--><script></script>', true],
    ['<!--<scripts></script>', true],
    ['<!-- --> <!--<script></script>', false],
    ['<!--<script></script><script></script>', false],
    ['<!--<script></script><script></script></script>', true],
  ] as const;
  for (const [script, isClosed] of cases) assert.deepEqual(hrefs(`<script>${script}<a href=y>`), isClosed ? ['y'] : [], script);
});

test('in svg and math, style and title are markup, CDATA is text, and HTML tags end them', () => {
  assert.deepEqual(hrefs('<svg><style><a href=y></style></svg>'), ['y']);
  assert.deepEqual(hrefs('<svg><a xlink:href=x/><a href=y xlink:href=n></svg>'), ['x/', 'y']);
  assert.deepEqual(hrefs('<svg><![CDATA[<a href=n>]]><a href=y></svg><![CDATA[<a href=n>]]>'), ['y']);
  assert.equal(parsePage('<svg><title>n</title></svg><title>y</title>').title, 'y');
  assert.equal(parsePage('<svg><p><title>y</title>').title, 'y');
  assert.equal(parsePage('<div><svg></div><title>y</title>').title, 'y');
  assert.equal(parsePage('<svg><foreignObject><title>y</title>').title, 'y');
  assert.equal(parsePage('<svg/><title>y</title>').title, 'y');
  assert.equal(parsePage('<svg><font><title>n</title></font></svg><svg><font size=1><title>y</title>').title, 'y');
  assert.deepEqual(
    hrefs('<math><annotation-xml encoding="text/html"><style><a href=n></style></annotation-xml><style><a href=y></style></math>'),
    ['y'],
  );
});

test('content of template is inert unless it is a shadow root', () => {
  assert.deepEqual(hrefs('<template><template></template><a href=n></template><a href=y>'), ['y']);
  assert.deepEqual(hrefs('<template shadowrootmode=open><a href=y></template>'), ['y']);
  const page = parsePage('<template><base href=n><title>n</title><meta name=robots content=n>n</template>');
  assert.deepEqual([page.baseHref, page.title, page.metaRobots, page.text], [undefined, '', [], '']);
});

test('each followed element is a link of its kind', () => {
  const page = parsePage(`<link rel=Canonical href=1><link rel="x NEXT" href=2><link rel=prev href=3><link rel=alternate hreflang=de href=4>
    <link rel=alternate media=handheld href=5><link rel=alternate type="text/html; charset=x" href=6><area href=7><frame src=8><iframe src=9></iframe>
    <meta http-equiv=Refresh content="1;10"><a href=11>`);
  const expected = ['canonical', 'next', 'prev', 'alternate', 'alternate', 'alternate', 'area', 'frame', 'iframe', 'refresh', 'a'];
  assert.deepEqual(
    page.links.map((link) => link.kind),
    expected,
  );
  assert.deepEqual(
    page.links.map((link) => link.href),
    expected.map((_, index) => `${index + 1}`),
  );
  assert.equal(page.canonicalHref, '1');
});

test('feeds, style sheets, icons and empty frames are no links', () => {
  assert.deepEqual(
    hrefs(`<link rel=alternate type=application/rss+xml hreflang=de href=n><link rel="alternate stylesheet" media=x href=n><link rel=alternate href=n>
      <link rel=icon href=n><link href=n><link rel=next href=""><link rel=canonical><iframe src=" "></iframe><img src=n><form action=n>`),
    [],
  );
});

test('R-D5 rel=nofollow marks the link, ugc and sponsored alone do not', () => {
  const page = parsePage(
    '<a href=1 rel="ugc NoFollow"><a href=2 rel="ugc sponsored"><a href=3 rel=nofollowed><a href=4 rel="&#110;ofollow"><link rel="next nofollow" href=5>',
  );
  assert.deepEqual(
    page.links.map((link) => link.nofollow),
    [true, false, false, true, true],
  );
});

test('R-D5 meta robots are reported for the asked names alone, in page order and up to the bound', () => {
  const page = parsePage(
    '<meta name=ROBOTS content="NoIndex"><meta content=" none " name=Portolan><meta name=googlebot content=n><meta name=robots><body><meta name=robots content=all>',
  );
  assert.deepEqual(page.metaRobots, [
    { name: 'robots', content: 'NoIndex' },
    { name: 'portolan', content: 'none' },
    { name: 'robots', content: 'all' },
  ]);
  assert.equal(parsePage('<meta name=robots content=x>'.repeat(MAX_META_ROBOTS + 1)).metaRobots.length, MAX_META_ROBOTS);
});

test('a link met again in the page is kept once, in its first form, whatever its fragment', () => {
  const page = parsePage('<a href=/a#1><a href=/a><a href=/a#2><a href=/a rel=nofollow><a href=/b>');
  assert.deepEqual(
    page.links.map((link) => [link.href, link.nofollow]),
    [
      ['/a#1', false],
      ['/a', true],
      ['/b', false],
    ],
  );
  assert.equal(page.linksFound, 5);
});

test('links over the bound are counted, and the account of links adds up', () => {
  const page = parsePage('<a href=1><a href=2><a href=1><a href=3><a href=4><a href=4><a href=2>', { maxLinks: 2 });
  assert.deepEqual([page.links.length, page.linksFound, page.linksOverBound], [2, 7, 3]);
  assert.deepEqual(hrefs('<a href=1>', { maxLinks: 0 }), []);
});

test('the first title counts, folded and cut at its bound', () => {
  assert.equal(parsePage('<title>\n a \t b&nbsp;</title><title>n</title>').title, 'a b\u00a0');
  assert.equal(parsePage('<title></title><title>n</title>').title, '');
  assert.equal(parsePage(`<title>${'x'.repeat(100_000)}</title>`).title.length, MAX_TITLE_CHARS);
});

test('the language is that of the html element', () => {
  assert.equal(parsePage('<html LANG=" de-CH "><p lang=n>').language, 'de-CH');
  assert.equal(parsePage('<html xml:lang=fr>').language, 'fr');
  assert.equal(parsePage('<html lang="">').language, undefined);
});

test('text is folded, with one line for each block', () => {
  const page = parsePage(
    '<h1> A\n  b </h1>\n\n<p>c<b>d</b>\te&nbsp;&amp;f<br>g</p><table><tr><td>1</td><td>2</td></tr></table><script>n</script><pre> h\n i </pre>',
  );
  assert.equal(page.text, 'A b\ncd e &f\ng\n1 2\nh i');
  assert.equal(mainOf(page), page.text);
});

test('text beyond one byte a character comes out whole', () => {
  assert.equal(parsePage('<p>Grüße <p>東京 &#x1F600;').text, 'Grüße\n東京 😀');
});

test('main text leaves out navigation, page header and footer, asides and form controls', () => {
  const page = parsePage(
    '<header>h</header><nav>n<nav>n</nav>n</nav><p>one <button>b</button>two</p><article><header>three</header><footer>f</footer>four</article><aside>s</aside><select><option>o</select><textarea>t</textarea><footer>z</footer>',
  );
  assert.equal(mainOf(page), 'one\ntwo\nthree\nfour');
  assert.equal(page.text, 'h\nn\nn\nn\none b two\nthree\nf\nfour\ns\no t\nz');
});

test('main text survives a landmark that is never closed', () => {
  assert.equal(mainOf(parsePage('<nav>n<main>one</main>')), 'one');
  assert.equal(mainOf(parsePage('<nav>one')), 'one');
});

test('main text alone keeps its white space, and has the words it has when folded', () => {
  for (const html of [
    'a  b\n<p> c<i>d</i> e&nbsp; &amp;f ',
    '<nav>n</nav> \n <footer>c</footer>',
    ' <nav>n</nav> a <aside> </aside>b',
    '',
  ]) {
    const words = (text: string): string =>
      text
        .trim()
        .split(/[\s\u00a0]+/)
        .join(' ');
    assert.equal(words(mainOf(parsePage(html, { text: 'main' }))), words(mainOf(parsePage(html))), html);
  }
});

test('main text is the same whether all text is asked for or not, and none comes unasked', () => {
  const html = '<nav>n</nav>a<p>b<footer>c</footer>';
  const main = parsePage(html, { text: 'main' });
  assert.deepEqual([main.text, mainOf(main)], ['', mainOf(parsePage(html))]);
  const none = parsePage(html, { text: 'none' });
  assert.deepEqual([none.text, mainOf(none)], ['', '']);
});

test('XHTML honours empty elements and CDATA', () => {
  const page = parsePage('<html><head><title/><script src="x"/></head><body><a href="y"/><![CDATA[<a href="n">]]></body></html>', {
    syntax: 'xhtml',
  });
  assert.deepEqual([page.links.map((link) => link.href), page.text], [['y'], '<a href="n">']);
});

test('a parser used again gives what a new one gives', () => {
  const odd = '<template><nav><svg><title>x</title><a href=1 rel=nofollow>';
  const plain = '<title>t</title><a href=1>é &amp; 東</a>';
  const used = parsePage(odd);
  assert.equal(used.links.length, 0);
  assert.deepEqual(parseHtml(plain, OPTIONS), parsePage(plain));
});

test('a refresh has a target only when the standard finds one', () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['0;url=x', 'x'],
    [' 1.5 , x', 'x'],
    ['.5 x', 'x'],
    ['0;url="x"y', 'x'],
    ['0;url="x', 'x'],
    ["0; URL = 'x y'", 'x y'],
    ['0;urlx', 'urlx'],
    ['0;url x', 'url x'],
    ['0', undefined],
    ['0;', undefined],
    ['x', undefined],
    ['0x', undefined],
    ['0;url=""', undefined],
  ];
  for (const [content, target] of cases) assert.equal(refreshUrl(content), target, content);
});

test('cost is linear in the page for every construct that looks ahead', () => {
  // Each piece would cost minutes at this size if the search for its end began anew at every piece.
  for (const piece of [
    '<!-- --!>',
    '<!--a-->',
    '<svg><![CDATA[',
    '<a b="',
    '<script><!--<script></script></script>',
    '<script><!-- --></script>',
    '<title></title>',
    '&',
    '<nav>',
    '<svg>',
    '<template>',
    '<a href="&amp',
    '</',
  ]) {
    const html = piece.repeat(Math.ceil(2_000_000 / piece.length));
    assert.equal(parsePage(html).linksFound >= 0, true, piece);
  }
  const nested = `<script>${'<!-- -->'.repeat(250_000)}</script><script><!--${'<script></script>'.repeat(100_000)}--></script><a href=y>`;
  assert.deepEqual(hrefs(nested), ['y']);
});

test('an end tag of an anchor closes what is within it when one is open around a drawing, and nothing otherwise', () => {
  assert.equal(parsePage('<svg></a><title>drawn</title></svg><title>page</title>').title, 'page');
  assert.equal(parsePage('<a><svg></a><title>page</title>').title, 'page');
});
