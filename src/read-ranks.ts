/** The file of frontier.ranks. The main thread reads it to judge it, each thread to use it. */
import { readFileSync } from 'node:fs';
import type { Config } from './config/schema.ts';
import { PortolanError } from './core/errors.ts';
import { DomainRanks } from './frontier/domain-ranks.ts';

/** Undefined without a file. Throws PORTOLAN_CONFIG_INVALID, PORTOLAN_CONFIG_UNREADABLE. */
export function readRanks(config: Config): DomainRanks | undefined {
  const { ranks } = config.frontier;
  if (ranks === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(ranks, 'utf8');
  } catch (error) {
    throw new PortolanError('PORTOLAN_CONFIG_UNREADABLE', `the list of ranks ${ranks} cannot be read: ${(error as Error).message}`, {
      cause: error,
      remedy: 'check the path given to frontier.ranks',
    });
  }
  return DomainRanks.parse(text, ranks);
}
