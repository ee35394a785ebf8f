/**
 * What commander refuses, in this project's words: the code PORTOLAN_USAGE_INVALID, what was written, and what was probably meant. The words that
 * users of other crawlers and of wget and curl bring along are known; nothing is accepted under another name.
 */
import type { Command, CommanderError } from 'commander';
import { configKeys } from '../config/schema.ts';
import { nearest } from '../config/suggest.ts';
import { PortolanError } from '../core/errors.ts';

/** Flag of another tool, without dashes and in lower case → flag of ours. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  concurrency: '--threads',
  connections: '--threads',
  depth: '--max-depth',
  level: '--max-depth',
  depthlimit: '--max-depth',
  directory: '--out',
  directoryprefix: '--out',
  dir: '--out',
  output: '--out',
  email: '--contact',
  from: '--contact',
  inputfile: '--seeds',
  jobs: '--threads',
  limit: '--max-pages',
  pagelimit: '--max-pages',
  n: '--max-pages',
  parallel: '--threads',
  sleep: '--delay',
  timelimit: '--max-time',
  urls: '--seeds',
  url: '--seeds',
  useragent: '--agent',
  wait: '--delay',
  workers: '--threads',
};
const ROBOTS_WORDS = /^(?:ignore|no|obey|respect)?robots(?:txt)?(?:off)?$/;

/** undefined for a help that was shown because nothing was asked. */
export function usageError(error: CommanderError, program: Command, argv: readonly string[]): PortolanError | undefined {
  if (error.code === 'commander.help') return argv[0] === 'help' && argv[1] !== undefined ? noSuchVerb(argv[1], program) : undefined;
  const verb = program.commands.find((command) => command.name() === argv[0]);
  const message = error.message.replace(/^error: /, '');
  const help = `portolan ${verb === undefined ? '' : `${verb.name()} `}--help shows what there is`;
  const advice = adviceFor(error.code, message, program, verb);
  return new PortolanError('PORTOLAN_USAGE_INVALID', `${message}${advice.hint === '' ? '' : ` (${advice.hint})`}`, {
    remedy: advice.remedy ?? help,
    cause: error,
  });
}

/** `portolan help VERB`: the help of all was shown already. */
function noSuchVerb(word: string, program: Command): PortolanError {
  const { hint } = aboutVerb(word, program);
  return new PortolanError('PORTOLAN_USAGE_INVALID', `there is no verb '${word}'${hint === '' ? '' : ` (${hint})`}`);
}

function adviceFor(
  code: string,
  message: string,
  program: Command,
  verb: Command | undefined,
): { readonly hint: string; readonly remedy?: string } {
  const word = /'([^']*)'/.exec(message)?.[1] ?? '';
  if (code === 'commander.unknownCommand') return aboutVerb(word, program);
  if (code === 'commander.unknownOption') return { hint: aboutFlag(word, verb ?? program) };
  if (code === 'commander.invalidArgument') return { hint: aboutChoice(message) };
  if (code === 'commander.missingArgument' && verb !== undefined)
    return { hint: '', remedy: `write it as portolan ${verb.name()} ${verb.usage()}` };
  return { hint: '' };
}

function aboutVerb(word: string, program: Command): { readonly hint: string; readonly remedy?: string } {
  if (/[.:/]/.test(word) || word === 'localhost') return { hint: '', remedy: `to crawl it: portolan crawl ${word}` };
  const near = nearest(
    word,
    program.commands.map((command) => command.name()),
  );
  return { hint: near === undefined ? '' : `did you mean ${near}?` };
}

function aboutFlag(given: string, command: Command): string {
  const flag = given.split('=')[0]!;
  const bare = flag.toLowerCase().replace(/[-_]/g, '');
  if (ROBOTS_WORDS.test(bare)) return 'robots.txt is always obeyed';
  const flags = command.options.flatMap(({ long }) => (long === null || long === undefined ? [] : [long]));
  const same = flags.find((one) => one.replaceAll('-', '') === bare);
  const other = OTHER_WORDS[bare];
  const meant = same ?? (other !== undefined && flags.includes(other) ? other : nearest(flag, flags));
  if (meant !== undefined) return `did you mean ${meant}?`;
  const key = configKeys().find((one) => one.split('.').at(-1)!.toLowerCase() === bare);
  return key !== undefined && flags.includes('--config') ? `${key} is a key of the configuration file, see --config` : '';
}

/** `option '--scope <mode>' argument 'hosts' is invalid. Allowed choices are host, domain, prefix, web.` */
function aboutChoice(message: string): string {
  const match = /argument '([^']*)' is invalid\. Allowed choices are (.*)\.$/.exec(message);
  const near = match === null ? undefined : nearest(match[1]!, match[2]!.split(', '));
  return near === undefined ? '' : `did you mean ${near}?`;
}
