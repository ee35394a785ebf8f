/** The public surface is what docs/PUBLIC-API.md says: a change of it is a change of that file, and seen in review. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderPublicApi } from '../../scripts/public-api.ts';
import { read } from './source.ts';

test('docs/PUBLIC-API.md is the public surface of the compiled package', () => {
  const rendered = renderPublicApi();
  assert.match(rendered, /^function createCrawl\(/m);
  assert.equal(read('docs/PUBLIC-API.md'), rendered, 'run node scripts/public-api.ts');
});
