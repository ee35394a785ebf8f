import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostPatterns } from '../../src/url/index.ts';

const names = [
  'www.example.org',
  'www.example.org:8080',
  '*.example.org',
  '*.www.example.org',
  '*.org',
  '127.0.0.1',
  '[::1]',
  '*.localhost',
];
const patterns = new HostPatterns(names.map((name) => [name, name]));

test('everything said about a host is found, the most specific first', () => {
  assert.deepEqual(patterns.matching('www.example.org:8080'), [
    'www.example.org:8080',
    'www.example.org',
    '*.www.example.org',
    '*.example.org',
    '*.org',
  ]);
  assert.deepEqual(patterns.matching('www.example.org'), ['www.example.org', '*.www.example.org', '*.example.org', '*.org']);
  assert.deepEqual(patterns.matching('a.b.example.org:81'), ['*.example.org', '*.org']);
});

test('a domain includes itself, and no name that merely ends like it', () => {
  assert.deepEqual(patterns.matching('example.org'), ['*.example.org', '*.org']);
  assert.deepEqual(patterns.matching('notexample.org'), ['*.org']);
  assert.deepEqual(patterns.matching('example.org.evil.test'), []);
});

test('an address has no domain above it', () => {
  assert.deepEqual(patterns.matching('127.0.0.1:9'), ['127.0.0.1']);
  assert.deepEqual(
    new HostPatterns([
      ['*.1', 1],
      ['*.0.0.1', 2],
    ]).matching('127.0.0.1'),
    [],
  );
  assert.deepEqual(patterns.matching('[::1]:9'), ['[::1]']);
  assert.deepEqual(patterns.matching('localhost'), ['*.localhost']);
});
