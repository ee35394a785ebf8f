/**
 * The command line as a whole. Each verb is a small function, loaded when it is asked for; errors leave with a code, a cause and what to do.
 * `createProgram` is the one description of verbs and flags: help, completion and the search for what was meant are made from it.
 */
import { Argument, Command, CommanderError } from 'commander';
import { VERSION } from '../version.ts';
import type { CrawlFlags } from './crawl-options.ts';
import { addCrawlVerb } from './crawl-verb.ts';
import { EXIT } from './exit-codes.ts';
import type { ExplainFlags } from './explain.ts';
import type { ExportFlags } from './export/export.ts';
import { endWithoutReader } from './reader-gone.ts';
import type { RetryFlags } from './retry.ts';
import type { SimulateFlags } from './simulate.ts';
import type { SteerFlags } from './steer.ts';
import { tellError } from './tell-error.ts';
import type { VerifyFlags } from './verify.ts';
import type { WaczFlags } from './wacz.ts';

const START = 'Begin:';
const CRAWL = 'Crawl:';
const STEER = 'Steer a running crawl:';
const ASK = 'Ask a crawl:';
const TAKE = 'Take results elsewhere:';

const EXAMPLES = `
Examples:
  portolan demo                                    a small web of its own, crawled and explained; needs no network
  portolan crawl example.com --dry-run             what would be done, without fetching a page
  portolan crawl example.com --max-pages 100       into portolan-out; run it again to go on
  portolan init && portolan crawl --config portolan.yaml

Each verb has its own help: portolan crawl --help`;

export async function programMain(argv: readonly string[]): Promise<void> {
  endWithoutReader();
  const program = createProgram();
  try {
    await program.parseAsync(argv as string[], { from: 'user' });
  } catch (error) {
    process.exitCode = report(error instanceof CommanderError ? await inOurWords(error, program, argv) : error);
  }
}

async function inOurWords(error: CommanderError, program: Command, argv: readonly string[]): Promise<unknown> {
  if (error.exitCode === 0) return error;
  const { usageError } = await import('./usage.ts');
  return usageError(error, program, argv) ?? error;
}

export function createProgram(): Command {
  const program = new Command('portolan');
  program
    .description('A polite, durable web crawler')
    .version(VERSION, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [verb]', 'show the help of a verb')
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureHelp({ showGlobalOptions: false })
    // What is wrong is said once, by report().
    .configureOutput({ outputError: () => {} })
    .addHelpText('after', EXAMPLES);
  addCrawlVerbs(program);
  addSteerVerbs(program);
  addAskVerbs(program);
  addSimulate(program);
  addVerify(program);
  return program;
}

function addCrawlVerbs(program: Command): void {
  program
    .command('demo')
    .helpGroup(START)
    .argument('[dir]', 'directory of the crawl; a demo that is there already is replaced', 'portolan-demo')
    .option('--serve', 'go on serving the small web afterwards, to try things on, until Ctrl-C')
    .option('--json', 'the result as JSON')
    .description('crawl a small web made for it on this machine, and explain what happened')
    .action(async (dir: string, flags: { serve?: boolean; json?: boolean }) => {
      const { demo } = await import('./demo/demo.ts');
      process.exitCode = await demo(
        dir,
        flags,
        program.commands.map((command) => command.name()),
      );
    });
  program
    .command('init')
    .helpGroup(START)
    .argument('[file]', 'file to write; - for standard output', 'portolan.yaml')
    .option('--force', 'overwrite the file')
    .description('write a configuration file with every key, its unit, default and meaning')
    .action(async (file: string, flags: { force?: boolean }) => {
      const { init } = await import('./init.ts');
      process.exitCode = init(file, flags);
    });
  program
    .command('completion')
    .helpGroup(START)
    .argument('<shell>', 'bash, zsh or fish')
    .description('print the completion of a shell; bash: source <(portolan completion bash)')
    .action(async (shell: string) => {
      const { completion } = await import('./completion.ts');
      process.stdout.write(completion(shell, program));
    });
  addCrawlVerb(program, CRAWL, async (seeds: string[], flags: CrawlFlags) => {
    if (flags.dryRun === true) {
      const { dryRun } = await import('./dry-run.ts');
      process.exitCode = await dryRun(seeds, flags);
      return;
    }
    const { crawl } = await import('./crawl.ts');
    process.exitCode = await crawl(seeds, flags);
  });
  program
    .command('retry')
    .helpGroup(CRAWL)
    .argument('<dir>', 'directory of a crawl that is stopped')
    .requiredOption('--reason <names>', 'outcomes and drop reasons, separated by commas, such as timeout,host-retired')
    .option('--host <host>', 'only URLs of this host')
    .option('--json', 'as JSON')
    .description('put URLs that have ended back into their queues, as after an outage; the next run fetches them')
    .action(async (dir: string, flags: RetryFlags) => {
      const { retry } = await import('./retry.ts');
      process.exitCode = await retry(dir, flags);
    });
}

function addSteerVerbs(program: Command): void {
  const steer = (name: string, description: string): Command =>
    program.command(name).helpGroup(STEER).argument('<dir>', 'directory of a crawl').option('--json', 'as JSON').description(description);
  const drive = (verb: 'pause' | 'resume' | 'stop') => async (dir: string, flags: SteerFlags) => {
    process.exitCode = await (await import('./steer.ts')).drive(verb, dir, flags);
  };
  const block = (verb: 'block' | 'unblock') => async (dir: string, entries: string[], flags: SteerFlags) => {
    process.exitCode = await (await import('./steer.ts')).block(verb, dir, entries, flags);
  };
  steer('pause', 'fetch nothing new until resume; exchanges in flight end').action(drive('pause'));
  steer('resume', 'end a pause').action(drive('resume'));
  steer('stop', 'end the run in an orderly way, as Ctrl-C does')
    .option('--no-wait', 'return at once instead of when the run has ended')
    .action(drive('stop'));
  steer('block', 'never fetch from there again, also in later runs; without entries: list them')
    .argument('[entry...]', 'host (its sub-domains included), address, CIDR or /pattern/, as in a blocklist file')
    .action(block('block'));
  steer('unblock', 'take entries of portolan block back')
    .argument('<entry...>', 'entries as portolan block lists them')
    .action(block('unblock'));
  program
    .command('seeds')
    .helpGroup(STEER)
    .addArgument(new Argument('<action>', 'what to do').choices(['add']))
    .argument('<dir>', 'directory of a crawl')
    .argument('[seed...]', 'URLs or host names')
    .option('--seeds <file>', 'file of URLs or host names, one a line; - for standard input')
    .option('--json', 'as JSON')
    .description('add seeds to a crawl, once and for good; they widen its scope')
    .action(async (_action: string, dir: string, seeds: string[], flags: SteerFlags) => {
      process.exitCode = await (await import('./steer.ts')).addSeeds(dir, seeds, flags);
    });
  steer('set', 'change a setting of the crawl, such as delay.example.org=10s; without settings: list them')
    .argument('[setting...]', 'delay.HOST=DURATION, HOST:PORT or *.DOMAIN as well; delay.HOST=default takes it back')
    .action(async (dir: string, settings: string[], flags: SteerFlags) => {
      process.exitCode = await (await import('./steer.ts')).set(dir, settings, flags);
    });
}

function addAskVerbs(program: Command): void {
  program
    .command('status')
    .helpGroup(ASK)
    .argument('<dir>', 'directory of a crawl')
    .option('--hosts [n]', 'the slowest and the longest hosts, n of each (default 20)')
    .option('--recount', 'derive every count again from rows and outputs')
    .option('--json', 'as JSON')
    .description('what a crawl has done and what is left')
    .action(async (dir: string, flags: { hosts?: string | true; recount?: boolean; json?: boolean }) => {
      const { status } = await import('./status.ts');
      process.exitCode = await status(dir, flags);
    });
  program
    .command('explain')
    .helpGroup(ASK)
    .argument('[dir]', 'directory of a crawl; without it the configuration alone answers')
    .argument('[url]', 'URL as found on a page or in a list')
    .usage('[options] [dir] <url>')
    .option('--live-robots', 'ask for robots.txt of its origin now (one fetch)')
    .option('--requests', 'list every request that was made for it (reads the ledger)')
    .option('--config <file>', 'portolan.yaml instead of the configuration of the last run')
    .option('--json', 'as JSON')
    .description('why a URL was fetched, waits, was let go or was never admitted')
    .action(async (first: string | undefined, second: string | undefined, flags: ExplainFlags) => {
      const { explain } = await import('./explain.ts');
      process.exitCode = await explain(
        [first, second].filter((one) => one !== undefined),
        flags,
      );
    });
  program
    .command('export')
    .helpGroup(TAKE)
    .argument('<dir>', 'directory of a crawl; it may be running')
    .requiredOption('--what <table>', 'pages, urls, drops, hosts, links, host-links or text')
    .option('--format <format>', 'jsonl, csv or parquet (default: by the name of --out, else jsonl)')
    .option('--since <time>', 'only what was fetched (found, dropped) since a date, or a time ago such as 24h')
    .option('--outcome <names>', 'only these outcomes or reasons, separated by commas (pages, urls, drops)')
    .option('--with <columns>', 'further columns, such as via')
    .option('--out <file>', 'file to write, whole or not at all; - for standard output (default -)')
    .description('take pages, URLs, hosts, links or texts elsewhere, as JSONL, CSV or Parquet')
    .action(async (dir: string, flags: ExportFlags) => {
      const { exportTable } = await import('./export/export.ts');
      process.exitCode = await exportTable(dir, flags);
    });
}

function addSimulate(program: Command): void {
  program
    .command('simulate')
    .helpGroup(START)
    .option('-c, --config <file>', 'portolan.yaml (default: the defaults)')
    .option('--web <preset|file>', 'small, broad or hostile, or a YAML file that describes a web', 'small')
    .option('--for <time>', 'virtual time, such as 12h or 30d', '1d')
    .option('--seed <n>', 'the same seed is the same run, event by event', '1')
    .option('--hosts <n>', 'hosts of the web to start from', '100')
    .option('--against <file>', 'a second configuration, side by side')
    .option('--html <file>', 'a page with plots')
    .option('--json', 'as JSON, one line a configuration')
    .description('what a configuration would do, on a made-up web in virtual time; fetches nothing')
    .action(async (flags: SimulateFlags) => {
      const { simulate } = await import('./simulate.ts');
      process.exitCode = await simulate(flags);
    });
}

function addVerify(program: Command): void {
  program
    .command('verify')
    .helpGroup(ASK)
    .argument('<dir...>', 'directories of crawls')
    .option('--host <host>', 'what was asked of one host, fit to be sent to its webmaster')
    .option('--json', 'as JSON, one line a directory')
    .description('replay the politeness ledger and find whatever was not allowed')
    .action(async (dirs: string[], flags: VerifyFlags) => {
      const { verify } = await import('./verify.ts');
      process.exitCode = verify(dirs, flags);
    });
  program
    .command('cdxj')
    .helpGroup(TAKE)
    .argument('<dir>', 'directory of a crawl; it may be running')
    .option('--out <file>', 'file to write; - for standard output (default DIR/warc/index.cdxj)')
    .description('index the WARC files for replay tools (sorted CDXJ)')
    .action(async (dir: string, flags: { out?: string }) => {
      const { cdxj } = await import('./cdxj.ts');
      process.exitCode = await cdxj(dir, flags);
    });
  program
    .command('wacz')
    .helpGroup(TAKE)
    .argument('<dir>', 'directory of a crawl; it may be running')
    .option('--out <file>', 'file to write (default DIR/<name of DIR>.wacz)')
    .option('--title <text>', 'title of the collection')
    .description('pack WARC files, index and page list into one WACZ file')
    .action(async (dir: string, flags: WaczFlags) => {
      const { wacz } = await import('./wacz.ts');
      process.exitCode = await wacz(dir, flags);
    });
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
  return tellError(error);
}
