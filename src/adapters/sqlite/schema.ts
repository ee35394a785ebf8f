/**
 * Tables of one shard's database; docs/STATE.md explains them to a reader with plain SQL.
 * A chunk's id packs (host, level, seq) so that the queues of a host lie together: host · 2^25 + level · 2^22 + seq.
 */
import { assert } from '../../core/errors.ts';

export const FORMAT_VERSION = 1;
export const SEQ_LIMIT = 2 ** 22;
export const HOST_LIMIT = 2 ** 28;

export const SCHEMA = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE host(
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, domain TEXT NOT NULL, state TEXT NOT NULL, address TEXT NOT NULL,
  admitted INTEGER NOT NULL, queued INTEGER NOT NULL, fetched INTEGER NOT NULL, dropped INTEGER NOT NULL, level INTEGER NOT NULL,
  last_end_ms INTEGER NOT NULL, owed_ms INTEGER NOT NULL, gap_rule TEXT NOT NULL, due_ms INTEGER NOT NULL, wait_until_ms INTEGER NOT NULL,
  last_duration_ms INTEGER NOT NULL, crawl_delay_ms INTEGER NOT NULL, backoff INTEGER NOT NULL, faults INTEGER NOT NULL, set_aside INTEGER NOT NULL,
  cycle_pages INTEGER NOT NULL, cycle_start_ms INTEGER NOT NULL, judged INTEGER NOT NULL, near_duplicates INTEGER NOT NULL, queues TEXT NOT NULL);
CREATE TABLE chunk(
  id INTEGER PRIMARY KEY, n INTEGER NOT NULL, blob BLOB NOT NULL,
  host_id INTEGER GENERATED ALWAYS AS (id >> 25) VIRTUAL, level INTEGER GENERATED ALWAYS AS ((id >> 22) & 7) VIRTUAL,
  seq INTEGER GENERATED ALWAYS AS (id & 4194303) VIRTUAL);
CREATE TABLE page(
  host_id INTEGER NOT NULL, key BLOB NOT NULL, url TEXT NOT NULL, status INTEGER NOT NULL, outcome TEXT NOT NULL, fetched_at_ms INTEGER NOT NULL,
  etag TEXT, last_modified TEXT, content_hash BLOB, simhash BLOB, words INTEGER NOT NULL, duplicate_of TEXT, duplicate_kind TEXT,
  change_rate REAL NOT NULL, next_fetch_ms INTEGER NOT NULL, segment TEXT, offset INTEGER, length INTEGER,
  via TEXT NOT NULL, depth INTEGER NOT NULL, found_at_s INTEGER NOT NULL, attempts INTEGER NOT NULL, body_bytes INTEGER NOT NULL, duration_ms INTEGER NOT NULL,
  PRIMARY KEY(host_id, key)) WITHOUT ROWID;
CREATE TABLE fate(
  host_id INTEGER NOT NULL, key BLOB NOT NULL, reason TEXT NOT NULL, at_ms INTEGER NOT NULL, url TEXT NOT NULL, via TEXT NOT NULL, depth INTEGER NOT NULL,
  PRIMARY KEY(host_id, key)) WITHOUT ROWID;
CREATE TABLE robots(
  origin TEXT PRIMARY KEY, state TEXT NOT NULL, status INTEGER NOT NULL, body_sha256 TEXT NOT NULL, fetched_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL, failing_since_ms INTEGER NOT NULL, failures INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE robots_body(sha256 TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE content(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, url TEXT NOT NULL, fetched_at_ms INTEGER NOT NULL, payload_sha1 TEXT NOT NULL,
  text_hash BLOB, simhash BLOB, sketch BLOB, words INTEGER NOT NULL);
CREATE INDEX content_text ON content(text_hash) WHERE text_hash IS NOT NULL;
CREATE TABLE seen_delta(seq INTEGER PRIMARY KEY, keys BLOB NOT NULL);
CREATE TABLE outbox(receiver INTEGER NOT NULL, seq INTEGER NOT NULL, n INTEGER NOT NULL, blob BLOB NOT NULL, PRIMARY KEY(receiver, seq));
CREATE TABLE taken(sender INTEGER PRIMARY KEY, seq INTEGER NOT NULL, finds INTEGER NOT NULL, list TEXT NOT NULL);
CREATE TABLE scope_host(host_key TEXT PRIMARY KEY) WITHOUT ROWID;
`;

/** Ids lie next to one another: a number beyond its range would be another queue's. `seq` may be the end of the range, for what lies below. */
export function chunkId(hostId: number, level: number, seq: number): number {
  assert(hostId < HOST_LIMIT && seq <= SEQ_LIMIT, `host ${hostId} and chunk ${seq} are within the ranges of the format`);
  return (hostId * 8 + level) * SEQ_LIMIT + seq;
}
