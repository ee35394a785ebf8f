/** The cases of test/cases/data that crawl: one named test each. */
import { testCases } from '../cases/cases.ts';

testCases('dedup.json', (id) => id === 'dedup-04');
testCases('robots-crawls.json');
testCases('warc.json');
testCases('crawls.json');
testCases('durability.json');
