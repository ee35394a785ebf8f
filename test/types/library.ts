/** What the compiler must accept and refuse of a program that uses the library. `tsc` is the test: a line that should be refused and is not fails. */
import {
  type Crawl,
  type CrawlConfig,
  type CrawledPage,
  createCrawl,
  type DropReason,
  type ErrorCode,
  type Hooks,
  type OutcomeCode,
  PortolanError,
} from 'portolan';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <_T extends true>(): void => {};

const config = { seeds: ['https://site.example/'], politeness: { delay: '2s' }, scope: { mode: 'domain' } } as const satisfies CrawlConfig;
const crawl: Crawl = createCrawl(config, {
  parts: ['body', 'links'],
  hooks: new URL('file:///hooks.ts'),
  window: 10,
  signal: new AbortController().signal,
});

// @ts-expect-error: a key that there is not
createCrawl({ seed: 'https://site.example/' });
// @ts-expect-error: not a scope
createCrawl({ scope: { mode: 'planet' } });
// @ts-expect-error: a part that a page does not have
createCrawl(config, { parts: ['screenshot'] });
// @ts-expect-error: a program without a configuration
createCrawl();

export async function program(): Promise<void> {
  for await (const page of crawl) {
    holds<Same<typeof page, CrawledPage>>();
    holds<Same<typeof page.outcome, OutcomeCode>>();
    holds<Same<typeof page.body, Uint8Array<ArrayBuffer> | undefined>>();
    holds<Same<typeof page.fetchedAt, Date>>();
    // @ts-expect-error: a body is there only when it was asked for and came
    page.body.length;
    // @ts-expect-error: a page is not to be changed
    page.url = '';
    for (const link of page.links ?? []) holds<Same<typeof link.url, string>>();
  }
  const result = await crawl.run();
  holds<Same<typeof result.reason, 'finished' | 'page-limit' | 'time-limit' | 'stopped' | 'failed'>>();
  crawl.on('dropped', ({ reason }) => holds<Same<typeof reason, DropReason>>());
  crawl.on('end', ({ unaccounted }) => holds<Same<typeof unaccounted, number>>());
  // @ts-expect-error: an event that there is not
  crawl.on('pages', () => {});
  try {
    await crawl.run();
  } catch (error) {
    if (error instanceof PortolanError) holds<Same<typeof error.code, ErrorCode>>();
  }
}

export const hooks: Hooks = {
  handlers: [{ types: ['text/x'], handle: (page) => ({ title: page.text(), links: ['/a', { href: '/b', nofollow: true }] }) }],
  scopeFilter: (url, { depth, kind }) => url !== '' && depth < 3 && kind === 'link',
  // @ts-expect-error: a promise is no verdict
  linkFilter: async () => true,
};
