/**
 * The flags of `crawl` and the configuration keys they stand for. Every flag is a key of the one schema. Nothing is resolved here (crawl-config.ts does that), so
 * that help, version and completion start without the schema's library.
 */
import { type Command, Option } from 'commander';

export interface CrawlFlags {
  readonly [flag: string]: unknown;
  readonly config?: string;
  readonly seeds?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly threads?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly liveRobots?: boolean;
}

export type FlagKind = 'text' | 'number' | 'list' | 'switch';

interface Flag {
  readonly flag: string;
  readonly key: string;
  readonly kind: FlagKind;
  readonly group: Group;
  readonly help: string;
  readonly choices?: readonly string[];
}

type Group = keyof typeof GROUPS;
/** Headings of the help, in its order. */
const GROUPS = {
  start: 'Where to begin:',
  extent: 'What to crawl:',
  limits: 'When to stop:',
  politeness: 'Who you are, and how gently:',
  results: 'What is kept:',
  network: 'Names and addresses:',
  machine: 'This machine:',
  run: 'This run:',
} as const;

export const FLAGS: readonly Flag[] = [
  {
    flag: '--out <dir>',
    key: 'output.dir',
    kind: 'text',
    group: 'results',
    help: 'directory of the crawl (default portolan-out); the same directory resumes',
  },
  {
    flag: '--scope <mode>',
    key: 'scope.mode',
    kind: 'text',
    group: 'extent',
    help: 'host: hosts of the seeds; prefix: below their last slash; domain: their domains; web: all (default host)',
    choices: ['host', 'domain', 'prefix', 'web'],
  },
  { flag: '--include <regexp>', key: 'scope.include', kind: 'list', group: 'extent', help: 'a URL must match one of these (repeatable)' },
  {
    flag: '--exclude <regexp>',
    key: 'scope.exclude',
    kind: 'list',
    group: 'extent',
    help: 'a URL that matches one of these is rejected (repeatable)',
  },
  {
    flag: '--assets <on|off>',
    key: 'scope.assets',
    kind: 'switch',
    group: 'extent',
    help: 'fetch images, styles, scripts and fonts of pages too, from any host (default off)',
  },
  { flag: '--max-depth <n>', key: 'scope.maxDepth', kind: 'number', group: 'extent', help: 'links from a seed (default none; web: 16)' },
  { flag: '--max-pages <n>', key: 'limits.maxPages', kind: 'number', group: 'limits', help: 'pages fetched, over all runs (default none)' },
  {
    flag: '--max-time <time>',
    key: 'limits.maxTime',
    kind: 'text',
    group: 'limits',
    help: 'length of this run, such as 10m (default none)',
  },
  {
    flag: '--agent <token>',
    key: 'agent.token',
    kind: 'text',
    group: 'politeness',
    help: 'product token, matched against robots.txt (default Portolan)',
  },
  {
    flag: '--contact <url|mail>',
    key: 'agent.contact',
    kind: 'text',
    group: 'politeness',
    help: 'where a webmaster reaches you; required for --scope web',
  },
  {
    flag: '--delay <time>',
    key: 'politeness.delay',
    kind: 'text',
    group: 'politeness',
    help: 'least gap between two fetches of a host (default 1s)',
  },
  {
    flag: '--delay-factor <n>',
    key: 'politeness.delayFactor',
    kind: 'number',
    group: 'politeness',
    help: 'gap as a multiple of the last fetch (default 5)',
  },
  {
    flag: '--address-delay <time>',
    key: 'politeness.addressDelay',
    kind: 'text',
    group: 'politeness',
    help: 'least gap per address (default as --delay)',
  },
  {
    flag: '--rate <n>',
    key: 'politeness.rate',
    kind: 'text',
    group: 'politeness',
    help: 'requests per second over all hosts, such as 5/s (default none)',
  },
  {
    flag: '--blocklist <file>',
    key: 'politeness.blocklist',
    kind: 'text',
    group: 'politeness',
    help: 'hosts, domains, CIDRs and /patterns/ never to fetch; read again when it changes',
  },
  {
    flag: '--ranks <file>',
    key: 'frontier.ranks',
    kind: 'text',
    group: 'limits',
    help: 'CSV of domains with their rank; better domains are fetched first',
  },
  {
    flag: '--header <name: value>',
    key: 'fetch.headers',
    kind: 'list',
    group: 'network',
    help: 'header of every request (repeatable)',
  },
  {
    flag: '--threads <n>',
    key: 'run.threads',
    kind: 'number',
    group: 'machine',
    help: 'threads that run shards (default: processors)',
  },
  { flag: '--memory <size>', key: 'run.memory', kind: 'text', group: 'machine', help: 'bound of caches and tables (default 256MiB)' },
  { flag: '--max-body <size>', key: 'fetch.maxBody', kind: 'text', group: 'results', help: 'largest decoded body (default 5MB)' },
  {
    flag: '--accept <types>',
    key: 'fetch.accept',
    kind: 'list',
    group: 'results',
    help: 'media types that are read, separated by commas (default HTML, XHTML, plain text)',
  },
  {
    flag: '--dns <addr:port>',
    key: 'dns.servers',
    kind: 'list',
    group: 'network',
    help: "name server to ask (default the system's; repeatable)",
  },
  { flag: '--resolve <host:addr>', key: 'dns.resolve', kind: 'list', group: 'network', help: 'fixed address of a name (repeatable)' },
  {
    flag: '--allow-net <cidr>',
    key: 'net.allow',
    kind: 'list',
    group: 'network',
    help: 'special range that may be contacted, such as 127.0.0.0/8 (repeatable)',
  },
  { flag: '--warc <on|off>', key: 'output.warc', kind: 'switch', group: 'results', help: 'write WARC files (default on)' },
  {
    flag: '--warc-size <size>',
    key: 'output.warcSize',
    kind: 'text',
    group: 'results',
    help: 'size at which a WARC file is closed (default 1GB)',
  },
  {
    flag: '--warc-prefix <text>',
    key: 'output.warcPrefix',
    kind: 'text',
    group: 'results',
    help: 'first part of WARC file names (default portolan)',
  },
  {
    flag: '--cdxj <on|off>',
    key: 'output.cdxj',
    kind: 'switch',
    group: 'results',
    help: 'index the WARC files at the end of a run (default off)',
  },
  { flag: '--pages <on|off>', key: 'output.pages', kind: 'switch', group: 'results', help: 'write pages.jsonl (default on)' },
  { flag: '--text <on|off>', key: 'output.text', kind: 'switch', group: 'results', help: 'visible text in pages.jsonl (default off)' },
  {
    flag: '--near-duplicates <what>',
    key: 'dedup.nearDuplicates',
    kind: 'text',
    group: 'results',
    help: 'keep or skip near-duplicates (default keep; web: skip)',
    choices: ['keep', 'skip'],
  },
];

const MAY_REPEAT = (value: string, before: readonly string[] | undefined): string[] => [...(before ?? []), value];

export function addCrawlOptions(command: Command): Command {
  const plain = (group: Group, flag: string, help: string): void => void command.addOption(new Option(flag, help).helpGroup(GROUPS[group]));
  plain('start', '--seeds <file>', 'file of URLs, one a line; - for standard input');
  plain('start', '--config <file>', 'portolan.yaml; flags win over it');
  for (const group of Object.keys(GROUPS) as Group[]) {
    for (const flag of FLAGS) if (flag.group === group) command.addOption(optionOf(flag));
  }
  plain('run', '--dry-run', 'say what would be done, without fetching a page');
  plain('run', '--live-robots', "with --dry-run: fetch each seed's robots.txt and say what it allows");
  plain('run', '--json', 'one JSON event a line on standard output');
  plain('run', '--quiet', 'errors only');
  plain('run', '--force', 'go on although the rules differ from the stored crawl');
  command.addHelpOption(new Option('-h, --help', 'show this help').helpGroup(GROUPS.run));
  return command;
}

function optionOf({ flag, kind, help, choices, group }: Flag): Option {
  const option = new Option(flag, help).helpGroup(GROUPS[group]);
  if (choices !== undefined) option.choices(choices);
  if (kind === 'list') option.argParser(MAY_REPEAT);
  return option;
}
