import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConfigInput, parseConfig } from '../../src/config/schema.ts';
import { PortolanError } from '../../src/core/errors.ts';
import type { CrawlMeta } from '../../src/engine/crawl-meta.ts';
import { CRAWL_META, newMeta, openMeta, openScopeSeeds, readMeta } from '../../src/engine/crawl-open.ts';
import { TestDisk } from '../support/test-disk.ts';

const CONTACT = 'mailto:test@example.org';

function meta(input: ConfigInput = {}, suffixList = '1'): CrawlMeta {
  return newMeta(parseConfig({ agent: { contact: CONTACT }, ...input }, 'test'), 4, suffixList, 1_000);
}

async function onDisk(work: (disk: TestDisk) => Promise<void>): Promise<void> {
  const { disk, remove } = TestDisk.temporary();
  try {
    await work(disk);
  } finally {
    remove();
  }
}

const code = (wanted: string) => (error: unknown) => error instanceof PortolanError && error.code === wanted;

describe('the crawl as a whole', () => {
  test('what a crawl was begun with stays: shards and time of a later start have no say', () =>
    onDisk(async (disk) => {
      const first = await openMeta(disk, meta({ run: { shards: 3 } }), false);
      const again = await openMeta(disk, { ...meta({ run: { shards: 9 } }), createdAtMs: 2_000 }, false);
      assert.deepEqual(again, first);
      assert.deepEqual(readMeta(disk), first);
      assert.equal(first.shards, 3);
    }));

  test('another scope is refused, and with force taken over for good', () =>
    onDisk(async (disk) => {
      await openMeta(disk, meta({ scope: { mode: 'host' } }), false);
      const wider = meta({ scope: { mode: 'domain' } });
      await assert.rejects(openMeta(disk, wider, false), code('PORTOLAN_STATE_MISMATCH'));
      await openMeta(disk, wider, true);
      assert.equal((await openMeta(disk, wider, false)).scope.mode, 'domain');
    }));

  test('other URL keys are refused, with force too', () =>
    onDisk(async (disk) => {
      await openMeta(disk, meta(), false);
      await assert.rejects(openMeta(disk, meta({}, '2'), true), code('PORTOLAN_STATE_MISMATCH'));
    }));

  test('state without crawl.json is damage, not a new crawl', () =>
    onDisk(async (disk) => {
      disk.openAppend('state/shard-0/state.db').close();
      await assert.rejects(openMeta(disk, meta(), false), code('PORTOLAN_STATE_DAMAGED'));
      assert.equal(disk.exists(CRAWL_META), false);
    }));

  test('seeds widen the scope and never narrow it', () =>
    onDisk(async (disk) => {
      assert.deepEqual(await openScopeSeeds(disk, 'host', ['https://a.example/x', 'https://a.example/y']), ['https://a.example/x']);
      assert.deepEqual(await openScopeSeeds(disk, 'host', ['https://b.example/']), ['https://a.example/x', 'https://b.example/']);
      assert.deepEqual(await openScopeSeeds(disk, 'host', []), ['https://a.example/x', 'https://b.example/']);
    }));
});
