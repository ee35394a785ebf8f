/** robots with a server: a crawl of the seeds in their order and another in the reverse; a page is allowed when it is asked for. */
import { type Case, type Findings, fieldsListOf, fieldsOf, textsOf } from './format.ts';
import { openSession } from './session.ts';
import { judgeTraffic, TRAFFIC_WORDS } from './traffic.ts';
import { scripted } from './web.ts';

export async function crawlRobots({ input, expected }: Case, findings: Findings): Promise<void> {
  findings.onlyKnown('input', input, ['kind', 'agent', 'seeds', 'server', 'config', 'dns', 'server_latency_ms']);
  findings.onlyKnown('expected', expected, ['allowed', 'disallowed', ...TRAFFIC_WORDS]);
  const seeds = textsOf(input, 'seeds');
  for (const order of seeds.length > 1 ? [seeds, seeds.toReversed()] : [seeds]) {
    const session = await openSession({ answer: scripted(fieldsListOf(input, 'server'), findings), seeds: order, input, findings });
    try {
      await session.finish(findings);
      await session.audit(findings);
      judgeTraffic(session.web, fieldsOf(input, 'dns'), expected, findings);
      const asked = new Set(session.web.log.map((request) => request.url));
      for (const url of textsOf(expected, 'allowed')) if (!asked.has(url)) findings.fail(`${url} was not asked for`);
      for (const url of textsOf(expected, 'disallowed')) if (asked.has(url)) findings.fail(`${url} was asked for`);
      for (const url of new Set(session.web.log.filter((request) => request.path === '/robots.txt').map((request) => request.url)))
        findings.equal(`fetches of ${url}`, session.web.log.filter((request) => request.url === url).length, 1);
    } finally {
      await session.close();
    }
  }
}
