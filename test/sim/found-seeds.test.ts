/** Seeds of the swarm that once found something, each with what it was. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulate } from '../../src/compose-sim.ts';
import { swarmOptions } from './swarm-options.ts';

const FOUND: Readonly<Record<number, string>> = {
  105: 'a cycle of the page budget ended, by a clock that jumped ahead, between its begin for the crawl and its begin for the judge (R-E3)',
  618: 'a robots.txt brought a Crawl-delay while 503s were in force, and the pause was doubled from the delay alone (R-C3)',
  890: 'the judge kept the begin of a budget cycle that a kill had taken back (R-E3)',
  1512: 'both of the page budget in 46 starts (R-E3)',
  20997: 'a Crawl-delay whose robots.txt a power cut had taken was held against the crawl at a later kill (R-C8)',
  26042: 'the recount looked for the links of a copy, which has those of its original',
};

describe('seeds that found something find nothing now', { concurrency: 1 }, () => {
  for (const [seed, what] of Object.entries(FOUND)) {
    it(`seed ${seed}: ${what}`, async () => {
      const result = await simulate(swarmOptions(Number(seed)));
      assert.deepEqual(result.findings, {}, result.findingLines.join('\n'));
    });
  }
});
