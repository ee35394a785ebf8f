/** Page requisites in HTML and CSS: what browsers would ask for, and what they would not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { cssAssets, htmlAssets, srcsetUrls } from '../../src/parse/assets.ts';
import { createHandlers } from '../../src/parse/handlers.ts';

const html = (text: string): readonly string[] => htmlAssets(text, 1_000).hrefs;
const css = (text: string): readonly string[] => cssAssets(text, 1_000).hrefs;

describe('HTML', () => {
  const each: Readonly<Record<string, string>> = {
    img: '<img src=a>',
    'img srcset': '<img srcset="a 2x">',
    'picture source': '<picture><source srcset="a 100w">',
    stylesheet: '<link rel="preload stylesheet" href=a>',
    icon: '<link rel="shortcut icon" href=a>',
    'touch icon': '<link rel=apple-touch-icon href=a>',
    preload: '<link rel=preload as=font href=a>',
    imagesrcset: '<link rel=preload as=image imagesrcset="a 2x">',
    script: '<script src=a></script>',
    video: '<video src=a>',
    audio: '<audio><source src=a>',
    track: '<track src=a>',
    poster: '<video poster=a>',
    object: '<object data=a>',
    embed: '<embed src=a>',
    'svg image': '<svg><image xlink:href=a />',
    'svg use': '<svg><use href="a#part"/>',
    'input image': '<input type=IMAGE src=a>',
    'style element': '<style>p { background: url(a) }</style>',
    'style attribute': '<p style="background: url(&quot;a&quot;)">',
    background: '<body background=a>',
    noscript: '<noscript><img src=a></noscript>',
  };
  for (const [name, text] of Object.entries(each)) test(name, () => assert.deepEqual(html(text), ['a']));

  test('nothing within comments, scripts, text areas, titles and templates', () => {
    const hidden = [
      '<!-- X -->',
      '<script>"X"</script>',
      '<textarea>X</textarea>',
      '<title>X</title>',
      '<template><p>X</p></template>',
      '<xmp>X</xmp>',
    ];
    for (const around of hidden) assert.deepEqual(html(`${around.replace('X', '<img src=no>')}<img src=yes>`), ['yes'], around);
  });

  test('neither links of the page nor fields, nor what asks for nothing', () => {
    assert.deepEqual(
      html(
        '<a href=x><link rel=next href=x><link rel=canonical href=x><input src=x><img src="data:image/gif;base64,x"><use href="#part"><img src="">',
      ),
      [],
    );
  });

  test('each once, repeats and what is over the bound are counted', () => {
    assert.deepEqual(htmlAssets('<img src=a><img src="a#b"><img src=b><img src=c>', 2), { hrefs: ['a', 'b'], found: 4, overBound: 1 });
  });

  test('names of JavaScript’s own objects are no elements', () => {
    assert.deepEqual(html('<constructor src=a><toString src=a><__proto__ src=a>'), []);
  });

  test('whatever the page holds, the scan ends and never throws', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom('<img ', 'src=', '"', "'", '>', '</', '<!--', '-->', '<style', '<script', 'url(', ')', '\\', ' a', '&', '<'),
        ),
        (parts) => {
          html(parts.join(''));
        },
      ),
    );
  });
});

test('srcset is read as the standard reads it', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['a.png', ['a.png']],
    ['a.png 1x, b.png 2x', ['a.png', 'b.png']],
    ['a,b.png 100w,c.png', ['a,b.png', 'c.png']],
    ['a.png, b.png', ['a.png', 'b.png']],
    [' ,, a.png 1x (x, y) , b.png', ['a.png', 'b.png']],
    ['data:image/png;base64,AA== 1x, b.png', ['data:image/png;base64,AA==', 'b.png']],
    ['', []],
    [' , ', []],
  ];
  for (const [text, urls] of cases) assert.deepEqual(srcsetUrls(text), urls, text);
});

describe('CSS', () => {
  test('url() in each of its forms', () => {
    assert.deepEqual(
      css(
        `a { b: url(1.png) url( 2.png ) url("3.png") url( '4.png' ) URL(5.png) u\\72l(6.png) url(7\\)7.png) url("8\\"8.png") src("9.png") }`,
      ),
      [...['1.png', '2.png', '3.png', '4.png', '5.png', '6.png', '7)7.png', '8"8.png', '9.png']],
    );
    assert.deepEqual(css('a { b: url("\\41 \\000042.png") url(\n x.png\n) url(end.png'), ['AB.png', 'x.png', 'end.png']);
  });

  test('@import as string and as url, and no string of its conditions', () => {
    assert.deepEqual(
      css(`@import "a.css"; @IMPORT url(b.css) screen; @import 'c.css' supports(content: "no.css"); @import url("d.css") layer(x);`),
      [...['a.css', 'b.css', 'c.css', 'd.css']],
    );
  });

  test('fonts and image-set, whose types are no URLs', () => {
    assert.deepEqual(css('@font-face { src: local("no"), url(f.woff2) format("woff2") }'), ['f.woff2']);
    assert.deepEqual(css('a { b: image-set("a.avif" type("image/avif") 1x, url(b.png) 2x) -webkit-image-set("c.png" 1x) }'), [
      'a.avif',
      'b.png',
      'c.png',
    ]);
  });

  test('nothing within comments and strings, no namespace, no bad URL', () => {
    assert.deepEqual(
      css(
        `/* url(no) */ a { content: "url(no)" } @namespace url(no); @namespace "no"; @charset "no"; b { c: url(x"y.png) url(a b) url(ok.png) }`,
      ),
      ['ok.png'],
    );
    assert.deepEqual(css('a { b: "broken\n url(ok.png) }'), ['ok.png']);
    assert.deepEqual(css('a { b: url(#part) url(data:image/png,x) url() url("") }'), []);
  });

  test('whatever the sheet holds, the scan ends and never throws', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('url(', '"', "'", ')', '(', '\\', '\n', '@import', '/*', '*/', ' a', ';', '{', '}', 'image-set(', 'é')),
        (parts) => {
          css(parts.join(''));
        },
      ),
    );
  });
});

test('a page is looked at for assets only when they are asked for', () => {
  const handle = createHandlers().find('text/html')!;
  const page = { bytes: Buffer.from('<img src=a>'), contentTypeHeader: 'text/html', mediaType: 'text/html' };
  const options = { maxLinks: 10, text: 'none' as const, robotsNames: [] };
  assert.equal(handle.handle({ ...page, options }).assets, undefined);
  assert.deepEqual(handle.handle({ ...page, options: { ...options, assets: true } }).assets?.hrefs, ['a']);
});
