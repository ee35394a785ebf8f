/** The words that `explain` takes from the documents are read on a terminal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWords } from '../../src/cli/explain-words.ts';

test('no markup of the documents is left in what explain says, and links are named by their file', () => {
  const { rejected, dropped, outcomes, gapRules } = readWords();
  const words = [rejected, dropped, outcomes, gapRules].flatMap((list) => [...list.values()]);
  assert.ok(words.length > 50, String(words.length));
  for (const { when, key, advice } of words) assert.doesNotMatch(`${when} ${key} ${advice}`, /`|\]\(/);
  assert.match(gapRules.get('host-delay')?.when ?? '', /portolan set \(docs\/STEERING\.md\)/);
});
