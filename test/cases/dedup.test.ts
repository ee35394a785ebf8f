import { testCases } from './cases.ts';

/** dedup-04 crawls, and runs with test/integration. */
testCases('dedup.json', (id) => id !== 'dedup-04');
