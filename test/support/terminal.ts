/** What stands on a terminal after everything that was written to it: characters in rows, and the few controls that are used; another control fails the test. */
import assert from 'node:assert/strict';

export class Terminal {
  columns: number;
  rows = 24;
  lines: string[] = [''];
  row = 0;
  column = 0;
  written = '';
  writes = 0;

  constructor(columns: number) {
    this.columns = columns;
  }

  write(text: string): void {
    this.written += text;
    this.writes++;
    const parts = text.match(/\x1b\[[\d;?]*[A-Za-z]|[\s\S]/g) ?? [];
    for (const part of parts) this.#take(part);
  }

  #take(part: string): void {
    if (part === '\n') {
      this.row++;
      this.column = 0;
    } else if (part === '\r') this.column = 0;
    else if (part === '\x1b[K') this.lines[this.row] = this.#line().slice(0, this.column);
    else if (part === '\x1b[J') {
      this.lines.length = this.row + 1;
      this.lines[this.row] = this.#line().slice(0, this.column);
    } else if (/^\x1b\[\d+A$/.test(part)) this.row = Math.max(0, this.row - Number(part.slice(2, -1)));
    else if (/^\x1b\[\d*m$/.test(part)) return;
    else {
      assert.equal(part.length, 1, `control ${JSON.stringify(part)}`);
      assert.ok(part >= ' ' && part <= '~', `character ${JSON.stringify(part)}`);
      if (this.column >= this.columns) this.#take('\n');
      this.lines[this.row] = `${this.#line().padEnd(this.column)}`.slice(0, this.column) + part + this.#line().slice(this.column + 1);
      this.column++;
    }
    while (this.lines.length <= this.row) this.lines.push('');
  }

  #line(): string {
    return this.lines[this.row] ?? '';
  }

  get shown(): string[] {
    return this.lines.map((line) => line.trimEnd()).filter((line) => line !== '');
  }
}
