/**
 * The configuration as it may be written down: into the state directory, the warcinfo record, reports and on a terminal. Secrets are masked; names of variables
 * of the environment, which are none, stay.
 */
import type { Config } from '../config/schema.ts';
import { MASK } from './host-rules.ts';

type HostConfig = Config['hosts'][string];

export function shownConfig(config: Config): Config {
  const hosts = Object.fromEntries(Object.entries(config.hosts).map(([name, host]) => [name, shownHost(host)]));
  return { ...config, hosts, fetch: { ...config.fetch, headers: config.fetch.headers.map(shownLine) } };
}

function shownHost(host: HostConfig): HostConfig {
  const { auth, cookies, headers, proxy } = host;
  return {
    ...host,
    ...(auth === undefined ? {} : { auth: { user: auth.user, password: masked(auth.password) } }),
    ...(cookies === undefined ? {} : { cookies: typeof cookies === 'string' ? MASK : (maskedAll(cookies) as typeof cookies) }),
    ...(headers === undefined ? {} : { headers: maskedAll(headers) }),
    ...(typeof proxy === 'string' ? { proxy: proxy.replace(/\/\/[^/]*@/, `//${MASK}@`) } : {}),
  };
}

function masked<T>(secret: T): T | string {
  return typeof secret === 'string' ? MASK : secret;
}

/** The name of a variable is a string as well, under the key env. */
function maskedAll<T>(map: Readonly<Record<string, T>>): Record<string, T | string> {
  if ('env' in map && Object.keys(map).length === 1) return { ...map };
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, masked(value)]));
}

function shownLine(line: string): string {
  return /^\s*(?:authorization|cookie)\s*:/i.test(line) ? `${line.slice(0, line.indexOf(':'))}: ${MASK}` : line;
}
