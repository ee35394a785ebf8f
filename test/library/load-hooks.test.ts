/** A module of hooks is checked when it is loaded, and what it finds is brought into the form of the parser's own pages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PortolanError } from '../../src/core/errors.ts';
import { loadHooks } from '../../src/library/load-hooks.ts';
import type { HandlerInput } from '../../src/parse/handlers.ts';

const moduleOf = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
const load = (text: string, accept: readonly string[] = ['*/*'], notices: string[] = []) =>
  loadHooks(moduleOf(text), accept, (said) => notices.push(said));

const input = (body: string, maxLinks = 10, text: 'main' | 'both' = 'both'): HandlerInput => ({
  bytes: Buffer.from(body),
  contentTypeHeader: 'text/x-list; charset=utf-8',
  mediaType: 'text/x-list',
  options: { maxLinks, text, robotsNames: ['robots'] },
});
const handlerModule = (body: string): string => `export const handlers = [{ types: ['text/x-list'], handle: (page) => { ${body} } }];`;

test('what a module exports wrongly is named', async () => {
  for (const [text, told] of [
    ['export const other = 1;', /exports none of handlers, scopeFilter, linkFilter/],
    ['export const scopeFilter = true;', /exports scopeFilter, which is not a function/],
    ['export const handlers = {};', /exports handlers, which is not an array/],
    ['export const handlers = [{ types: [] , handle() {} }];', /handlers\[0\] has no list of types/],
    ["export const handlers = [{ types: ['text/x'] }];", /handlers\[0\] has no function handle/],
    ["export const handlers = [{ types: ['Text/X; q=1'], handle() {} }];", /"Text\/X; q=1" is not a media type/],
    ["export const handlers = [{ types: ['text/x'], handle() {} }];", /for text\/x, which fetch\.accept does not have/],
    ['syntax error', /cannot be imported/],
    ["throw new Error('boom');", /cannot be imported: boom/],
  ] as const) {
    await assert.rejects(
      load(text, ['text/html']),
      (error) => error instanceof PortolanError && error.code === 'PORTOLAN_HOOKS_INVALID' && told.test(error.message),
      text,
    );
  }
});

test('links of a handler are counted and bounded like those of a page', async () => {
  const { handlers } = await load(handlerModule("return { links: page.text().split(' ') };"));
  const page = handlers[0]!.handle(input('/a /b /a#x /c /d', 3));
  assert.deepEqual(
    page.links.map(({ href, nofollow }) => [href, nofollow]),
    [
      ['/a', false],
      ['/b', false],
      ['/c', false],
    ],
  );
  assert.deepEqual([page.linksFound, page.linksOverBound], [5, 1]);
  // As PageLink says: found = kept + repeats + over the bound.
  assert.equal(page.linksFound, page.links.length + 1 + page.linksOverBound);
});

test('text stands for the main text unless that is given, and is kept only when it is asked for', async () => {
  const { handlers } = await load(handlerModule("return { text: page.text(), ...(page.text() === 'both' ? { mainText: 'main' } : {}) };"));
  const words = (units: Readonly<Uint16Array>): string => String.fromCharCode(...units);
  const one = handlers[0]!.handle(input('grüße'));
  assert.deepEqual([one.text, words(one.mainText)], ['grüße', 'grüße']);
  assert.equal(words(handlers[0]!.handle(input('both')).mainText), 'main');
  assert.deepEqual(
    [handlers[0]!.handle(input('x', 10, 'main')).text, words(handlers[0]!.handle(input('x', 10, 'main')).mainText)],
    ['', 'x'],
  );
});

test('a handler that fails costs its page its findings, and is said a bounded number of times', async () => {
  const notices: string[] = [];
  const { handlers } = await load(
    handlerModule("if (page.text() === 'x') return { title: 1 }; throw new Error('odd page');"),
    ['*/*'],
    notices,
  );
  for (let at = 0; at < 15; at++) assert.deepEqual(handlers[0]!.handle(input('y')).links, []);
  assert.equal(handlers[0]!.handle(input('x')).title, '');
  assert.equal(notices.length, 10);
  assert.match(notices[0]!, /odd page/);
  assert.match(notices[9]!, /further failures of this handler are not said/);
});

test('a handler that answers with nothing has found nothing', async () => {
  const { handlers } = await load(handlerModule(''));
  assert.deepEqual([handlers[0]!.handle(input('x')).title, handlers[0]!.handle(input('x')).linksFound], ['', 0]);
});

test('filters are asked with what they need, and anything but a boolean is an error', async () => {
  const hooks = await load(
    "export const scopeFilter = (url, { depth, via, kind }) => url + depth + via + kind === 'u1vlink'; export const linkFilter = (link, page) => link.href + page.url + page.depth;",
  );
  assert.equal(hooks.admits?.('u', { depth: 1, via: 'v', kind: 'link' }), true);
  assert.equal(hooks.admits?.('w', { depth: 1, via: 'v', kind: 'link' }), false);
  assert.throws(
    () => hooks.follows?.({ href: '/x', kind: 'a', nofollow: false }, { url: 'p', depth: 0 }),
    (error) =>
      error instanceof PortolanError && error.code === 'PORTOLAN_HOOKS_FAILED' && /linkFilter .* it answered string/.test(error.message),
  );
});
