/** Completion as a shell runs it. bash is asked for real; zsh and fish check the syntax of theirs where they are installed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { completion } from '../../src/cli/completion.ts';
import { createProgram } from '../../src/cli/program.ts';

const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

describe('bash', { skip: isInstalled('bash') ? false : 'bash is not installed' }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-completion-'));
  const script = join(dir, 'portolan.bash');
  before(() => {
    writeFileSync(script, completion('bash', createProgram()));
    mkdirSync(join(dir, 'a crawl'));
    writeFileSync(join(dir, 'seeds list.txt'), '');
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  /** What is offered for the last word. */
  function offered(...words: readonly string[]): string[] {
    const line = `source "$1"; shift; COMP_WORDS=(portolan "$@"); COMP_CWORD=$#; _portolan; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', line, 'bash', script, ...words], { encoding: 'utf8', cwd: dir });
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    return stdout.split('\n').filter((word) => word !== '');
  }

  test('verbs are completed, and all of them are offered', () => {
    assert.deepEqual(offered('cr'), ['crawl']);
    const verbs = createProgram().commands.map((command) => command.name());
    const all = offered('');
    for (const verb of [...verbs, 'help']) assert.ok(all.includes(verb), verb);
    assert.deepEqual(offered('help', 'sta'), ['status']);
  });

  test('the flags of a verb are completed, and those of no other', () => {
    assert.deepEqual(offered('crawl', '--max-').sort(), ['--max-body', '--max-depth', '--max-pages', '--max-time']);
    assert.deepEqual(offered('crawl', 'example.com', '--dry'), ['--dry-run']);
    assert.deepEqual(offered('init', '--'), ['--force', '--help']);
    for (const command of createProgram().commands) {
      const flags = offered(command.name(), '--');
      for (const { long, hidden } of command.options) if (!hidden && long) assert.ok(flags.includes(long), `${command.name()} ${long}`);
    }
  });

  test('choices are completed', () => {
    assert.deepEqual(offered('crawl', '--scope', ''), ['host', 'domain', 'prefix', 'web']);
    assert.deepEqual(offered('crawl', '--warc', 'o'), ['on', 'off']);
    assert.deepEqual(offered('crawl', '--near-duplicates', 's'), ['skip']);
    assert.deepEqual(offered('completion', ''), ['bash', 'zsh', 'fish']);
  });

  test('files and directories are completed, with spaces in their names', () => {
    assert.deepEqual(offered('crawl', '--seeds', 'see'), ['seeds list.txt']);
    assert.deepEqual(offered('crawl', '--out', ''), ['a crawl']);
    assert.deepEqual(offered('status', 'a'), ['a crawl']);
  });

  test('a value that nobody can know is not guessed', () => {
    assert.deepEqual(offered('crawl', '--max-pages', ''), []);
    assert.deepEqual(offered('crawl', ''), []);
  });
});

for (const [shell, args] of [
  ['zsh', ['-n']],
  ['fish', ['--no-execute']],
] as const) {
  test(`${shell} understands its script`, { skip: isInstalled(shell) ? false : `${shell} is not installed` }, () => {
    const { status, stderr } = spawnSync(shell, args, { input: completion(shell, createProgram()), encoding: 'utf8' });
    assert.equal(stderr, '');
    assert.equal(status, 0);
  });
}

test('fish offers verbs, flags and choices', { skip: isInstalled('fish') ? false : 'fish is not installed' }, () => {
  const ask = (line: string): string[] => {
    const { stdout } = spawnSync('fish', ['--no-config', '-c', `source; complete -C '${line}'`], {
      input: completion('fish', createProgram()),
      encoding: 'utf8',
    });
    return stdout.split('\n').flatMap((one) => (one === '' ? [] : [one.split('\t')[0]!]));
  };
  assert.deepEqual(ask('portolan cra'), ['crawl']);
  assert.deepEqual(ask('portolan crawl --max-'), ['--max-body', '--max-depth', '--max-pages', '--max-time']);
  assert.deepEqual(ask('portolan crawl --scope p'), ['prefix']);
});

test('every verb, flag and choice stands in each script', () => {
  const program = createProgram();
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = completion(shell, program);
    for (const command of program.commands) {
      assert.ok(script.includes(command.name()), `${shell}: ${command.name()}`);
      for (const { long, hidden, argChoices } of command.options) {
        if (hidden || !long) continue;
        assert.ok(script.includes(shell === 'fish' ? `-l ${long.slice(2)}` : long), `${shell}: ${command.name()} ${long}`);
        if (argChoices !== undefined) assert.ok(script.includes(argChoices.join(' ')), `${shell}: ${long} ${argChoices.join(' ')}`);
      }
    }
  }
});

test('another shell is refused, and the nearest one is named', () => {
  assert.throws(() => completion('bsh', createProgram()), { code: 'PORTOLAN_USAGE_INVALID', message: /"bsh" \(did you mean bash\?\)/ });
  assert.throws(() => completion('powershell', createProgram()), { code: 'PORTOLAN_USAGE_INVALID', remedy: /bash, zsh, fish/ });
});
