/** What is said of a mistyped command line: commander's own refusals in this project's words, with what was probably meant. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Command, CommanderError } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { usageError } from '../../src/cli/usage.ts';
import type { PortolanError } from '../../src/core/errors.ts';

/** Silent, and so are its verbs. */
function quietProgram(): Command {
  const program = createProgram();
  for (const command of [program, ...program.commands]) command.configureOutput({ writeErr: () => {}, writeOut: () => {} });
  return program;
}

async function refusal(...argv: readonly string[]): Promise<PortolanError | undefined> {
  const program = quietProgram();
  try {
    await program.parseAsync(argv as string[], { from: 'user' });
  } catch (error) {
    assert.ok(error instanceof CommanderError, String(error));
    return usageError(error, program, argv);
  }
  assert.fail(`${argv.join(' ')} was accepted`);
}

describe('a mistyped command line', () => {
  const cases: readonly (readonly [argv: readonly string[], message: RegExp])[] = [
    [['crwal', 'example.com'], /unknown command 'crwal' \(did you mean crawl\?\)/],
    [['statsu', 'dir'], /did you mean status\?/],
    [['help', 'crwal'], /there is no verb 'crwal' \(did you mean crawl\?\)/],
    [['crawl', '--max-page', '3'], /unknown option '--max-page' \(did you mean --max-pages\?\)/],
    [['crawl', '--maxpages', '3'], /did you mean --max-pages\?/],
    [['crawl', '--max_pages', '3'], /did you mean --max-pages\?/],
    [['crawl', '-delay', '3s'], /did you mean --delay\?/],
    [['crawl', '--dryrun'], /did you mean --dry-run\?/],
    [['crawl', '--scope', 'hosts'], /'hosts' is invalid.*host, domain, prefix, web.*\(did you mean host\?\)/],
    [['status', '--recuont', 'dir'], /did you mean --recount\?/],
    [['status'], /missing required argument 'dir'/],
    [['init', 'a', 'b'], /too many arguments for 'init'/],
    [['crawl', '--out'], /option '--out <dir>' argument missing/],
  ];
  for (const [argv, message] of cases) {
    test(`"${argv.join(' ')}" is named with what was probably meant`, async () => {
      const error = await refusal(...argv);
      assert.equal(error?.code, 'PORTOLAN_USAGE_INVALID');
      assert.match(error.message, message);
    });
  }

  test('words of other crawlers name the flag of this one', async () => {
    const words = {
      '--depth': '--max-depth',
      '--user-agent': '--agent',
      '--concurrency': '--threads',
      '--wait': '--delay',
      '--output': '--out',
      '--limit': '--max-pages',
    };
    for (const [theirs, ours] of Object.entries(words)) {
      const error = await refusal('crawl', 'example.com', theirs, '1');
      assert.match(error?.message ?? '', new RegExp(`did you mean ${ours}\\?`), theirs);
    }
  });

  test('who wants to ignore robots.txt is told that it is obeyed', async () => {
    for (const flag of ['--ignore-robots', '--no-robots', '--robots-txt'])
      assert.match((await refusal('crawl', 'example.com', flag))?.message ?? '', /robots\.txt is always obeyed/, flag);
  });

  test('a key of the configuration that has no flag is named as one', async () => {
    const error = await refusal('crawl', 'example.com', '--total-timeout', '3s');
    assert.match(error?.message ?? '', /fetch\.totalTimeout is a key of the configuration file, see --config/);
  });

  test('a URL without a verb is answered with the command that crawls it', async () => {
    for (const url of ['example.com', 'https://example.com/a', 'localhost'])
      assert.equal((await refusal(url))?.remedy, `to crawl it: portolan crawl ${url}`);
  });

  test('what is nothing like any verb or flag gets no proposal', async () => {
    assert.doesNotMatch((await refusal('frobnicate'))?.message ?? '', /did you mean/);
    assert.doesNotMatch((await refusal('crawl', '--frobnicate'))?.message ?? '', /did you mean/);
  });

  test('no verb at all is no error to be worded: the help was shown', async () => {
    assert.equal(await refusal(), undefined);
  });
});

test('the help of each verb has a description for every argument and flag, and the help of all groups the verbs', () => {
  const program = quietProgram();
  for (const command of program.commands) {
    assert.notEqual(command.description(), '', command.name());
    assert.notEqual(command.helpGroup(), '', `${command.name()} stands under no heading`);
    for (const option of command.options) assert.notEqual(option.description, '', `${command.name()} ${option.flags}`);
    for (const argument of command.registeredArguments) assert.notEqual(argument.description, '', `${command.name()} ${argument.name()}`);
  }
});
