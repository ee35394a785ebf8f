/**
 * Feeds a full-text index (SQLite FTS5, which Node.js brings). Pages are handed over at least once: after a crash some come again. So a page replaces
 * what stands under its key, and the index is right whatever happened. Run again with words after the directory, it is asked instead.
 *
 *   node examples/search-index.ts http://localhost:8080/ crawl-dir
 *   node examples/search-index.ts http://localhost:8080/ crawl-dir some words
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createCrawl } from 'portolan';

const [site = '', dir = 'portolan-out', ...words] = process.argv.slice(2);

mkdirSync(dir, { recursive: true });
const index = new DatabaseSync(join(dir, 'search.db'));
index.exec('CREATE VIRTUAL TABLE IF NOT EXISTS page USING fts5(key UNINDEXED, url UNINDEXED, title, text)');

if (words.length === 0) {
  const crawl = createCrawl({ seeds: [site], output: { dir, warc: false, pages: false }, net: { allow: ['127.0.0.0/8'] } }, { parts: ['text'] });
  const remove = index.prepare('DELETE FROM page WHERE key = ?');
  const insert = index.prepare('INSERT INTO page (key, url, title, text) VALUES (?, ?, ?, ?)');
  for await (const page of crawl) {
    if (page.class !== 'success' || page.robots.includes('noindex') || page.duplicateOf !== undefined) continue;
    index.exec('BEGIN');
    remove.run(page.key);
    insert.run(page.key, page.url, page.title ?? '', page.text ?? '');
    index.exec('COMMIT');
  }
}

const ask = index.prepare("SELECT url, title, snippet(page, 3, '[', ']', ' … ', 8) AS part FROM page WHERE page MATCH ? ORDER BY rank LIMIT 10");
for (const { url, title, part } of ask.all(words.join(' ') || 'the')) console.log(`${url}\n  ${title}: ${part}`);
index.close();
