/**
 * `hosts:`, what holds for single hosts and domains in place of what holds for all. Key by key the most specific pattern that says something counts
 * (url/host-pattern.ts); a map of headers or cookies is one value, taken whole.
 *
 * A secret is written down, or taken from the environment when the crawl starts (`{ env: NAME }`), so that it need not stand in the file. No message
 * of this file repeats a value that may be one. An exception (TLS that proves nothing, robots.txt that is not obeyed) needs a reason in words.
 */
import * as z from 'zod';
import { DAY_MS } from '../core/time.ts';
import { doc, duration } from './fields.ts';

/** Text of its own, or the name of a variable of the environment that holds it. */
export type Secret = string | { readonly env: string };

/** Headers that are not the operator's to set, in lower case, with the reason. */
const CONNECTION = 'it belongs to the connection';
const REFUSED_HEADERS: Readonly<Record<string, string>> = {
  host: 'the URL decides it',
  'content-length': 'requests have no body',
  'transfer-encoding': CONNECTION,
  connection: CONNECTION,
  'keep-alive': CONNECTION,
  'proxy-connection': CONNECTION,
  te: CONNECTION,
  trailer: CONNECTION,
  upgrade: CONNECTION,
  'http2-settings': CONNECTION,
  expect: 'requests have no body',
  'proxy-authorization': 'it is the proxy’s: write user and password into hosts.HOST.proxy',
  'accept-encoding': 'only what can be undone is asked for',
  range: 'a part would be taken for the whole',
  'if-range': 'a part would be taken for the whole',
  'if-none-match': 'the crawler sets it',
  'if-modified-since': 'the crawler sets it',
  'if-match': 'the crawler sets it',
  'if-unmodified-since': 'the crawler sets it',
  'user-agent': 'it is made from agent.token and agent.contact',
  from: 'it is made from agent.contact',
};

const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const WAYS = 'text, or { env: NAME } for a variable of the environment';

/** What is wrong with a header's name; undefined when nothing is. */
export function headerNameFault(name: string): string | undefined {
  if (!FIELD_NAME.test(name)) return `"${name}" is no name of a header`;
  const reason = REFUSED_HEADERS[name.toLowerCase()];
  return reason === undefined ? undefined : `the header ${name} cannot be set: ${reason}`;
}

/** What is wrong with a header's value (RFC 9110 section 5.5), without repeating it; undefined when nothing is. */
export function headerValueFault(value: string): string | undefined {
  if (/[\r\n\0]/.test(value)) return 'its value has a line break';
  return /[^\t\x20-\x7e\x80-\xff]/.test(value) ? 'its value has characters that a header cannot carry' : undefined;
}

/** `Name: value`. */
export const headerLine = z.string().superRefine((line, context) => {
  const refuse = (message: string): void => void context.addIssue({ code: 'custom', message });
  const colon = line.indexOf(':');
  if (colon <= 0) return refuse('a header is written as "Name: value"');
  const name = line.slice(0, colon).trim();
  const fault = headerNameFault(name);
  if (fault !== undefined) return refuse(fault);
  const wrong = headerValueFault(line.slice(colon + 1).trim());
  return wrong === undefined ? undefined : refuse(`${name}: ${wrong}`);
});

const environment = z.strictObject({ env: z.string().regex(ENVIRONMENT_NAME, 'the name of a variable of the environment is expected') });
const secret = z.union([z.string(), environment], { error: () => `${WAYS} is expected` });
const secrets = (what: string) => z.record(z.string(), secret, { error: () => `a map is expected, ${what}` });

const reason = z
  .string({ error: () => 'a reason in words is expected' })
  .trim()
  .refine((text) => text.length >= 5, 'a reason in words is expected; it stands in the report and in the WARC files')
  .regex(/^[^\r\n]*$/, 'a reason is one line');

const headers = secrets('such as { X-Token: abc }').superRefine((map, context) => {
  for (const [name, value] of Object.entries(map)) {
    const wrong = typeof value === 'string' ? headerValueFault(value) : undefined;
    const message = headerNameFault(name) ?? (wrong === undefined ? undefined : `${name}: ${wrong}`);
    if (message !== undefined) context.addIssue({ code: 'custom', message, path: [name] });
  }
});

const cookies = z
  .union([secret, secrets('')], { error: () => `a map of names and values, "name=value; …", or { env: NAME } is expected` })
  .superRefine((value, context) => {
    const parts = typeof value === 'string' ? [value] : Object.entries(value).flat();
    const bad = parts.some((part) => typeof part === 'string' && headerValueFault(part) !== undefined);
    if (bad) context.addIssue({ code: 'custom', message: 'a cookie cannot have a line break or such characters' });
  });

const proxy = secret.superRefine((value, context) => {
  if (typeof value !== 'string') return;
  const fault = proxyFault(value);
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
});

/** What is wrong with a proxy's URL, without repeating it; undefined when nothing is. */
export function proxyFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '')
    return 'a proxy is written as http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ in front of HOST when it wants them';
  return (url.pathname !== '/' && url.pathname !== '') || url.search !== '' || url.hash !== ''
    ? 'a proxy’s URL has nothing behind its port'
    : undefined;
}

/** What may be said of one host or domain. */
export const HostSchema = z.strictObject({
  delay: duration(
    'least gap between two fetches of the host, in place of politeness.delay',
    { max: DAY_MS },
    undefined,
    '100ms',
  ).optional(),
  delayFactor: z
    .number()
    .min(0)
    .meta(doc(undefined, 'gap as a multiple of the last fetch’s duration, in place of politeness.delayFactor', undefined, '0'))
    .optional(),
  pageBudget: z
    .number()
    .int()
    .min(0)
    .meta(doc('count', 'pages of the host per cycle, in place of frontier.pageBudget; 0 = no limit', undefined, '5000'))
    .optional(),
  headers: headers
    .meta(doc(undefined, 'headers of every request to the host: a map of names and values', undefined, '{ X-Token: { env: SITE_TOKEN } }'))
    .optional(),
  auth: z
    .strictObject(
      {
        user: secret.refine(
          (user) => typeof user !== 'string' || !/[:\p{Cc}]/u.test(user),
          'a user name has no colon and no control character',
        ),
        password: secret.refine((text) => typeof text !== 'string' || !/\p{Cc}/u.test(text), 'a password has no control character'),
      },
      { error: (issue) => (issue.code === 'invalid_type' ? 'user and password are expected' : undefined) },
    )
    .meta(doc(undefined, 'user and password of HTTP Basic authentication', undefined, '{ user: me, password: { env: SITE_PASSWORD } }'))
    .optional(),
  cookies: cookies
    .meta(doc(undefined, 'cookies of every request to the host: a map, or the text of the Cookie header', undefined, "{ consent: 'yes' }"))
    .optional(),
  httpsOnly: z
    .boolean()
    .meta(doc(undefined, 'headers, auth and cookies go over https alone, never in the clear', undefined, 'true'))
    .optional(),
  proxy: proxy
    .meta(doc(undefined, 'http or https proxy through which the host is asked', undefined, 'http://proxy.example.org:3128'))
    .optional(),
  ca: z
    .string()
    .min(1)
    .meta(
      doc(undefined, 'PEM file with certificate authorities that are trusted for the host beside the usual ones', undefined, 'own-ca.pem'),
    )
    .optional(),
  tls: z
    .strictObject({ insecure: z.literal(true, { error: () => 'true is expected' }), reason })
    .meta(
      doc(
        undefined,
        'an exception: certificates are not checked',
        undefined,
        '{ insecure: true, reason: test server with an expired certificate }',
      ),
    )
    .optional(),
  robots: z
    .strictObject({ ignore: z.literal(true, { error: () => 'true is expected' }), reason })
    .meta(doc(undefined, 'an exception: robots.txt is neither fetched nor obeyed', undefined, '{ ignore: true, reason: our own site }'))
    .optional(),
});

export type HostOptions = z.output<typeof HostSchema>;

/** Patterns in the spelling that host keys have. */
export const hostsField = z
  .record(z.string(), HostSchema, { error: () => 'a group of hosts is expected, each with its own keys' })
  .transform((hosts, context) => {
    const normal: Record<string, HostOptions> = {};
    for (const [written, options] of Object.entries(hosts)) {
      const pattern = hostPattern(written);
      const refuse = (message: string): void => void context.issues.push({ code: 'custom', message, input: written, path: [written] });
      if ('fault' in pattern) refuse(pattern.fault);
      else if (Object.hasOwn(normal, pattern.text)) refuse(`"${written}" is the same host as another key`);
      else normal[pattern.text] = options;
    }
    return normal;
  })
  .meta(doc(undefined, 'rules of single hosts, each with the keys below'))
  .default({});

/** A key of `hosts` as HostPatterns wants it, or what is wrong with it. */
export function hostPattern(written: string): { readonly text: string } | { readonly fault: string } {
  const wild = written.startsWith('*.') ? '*.' : '';
  const bare = written.slice(wild.length);
  const fault = (text: string) => ({ fault: `"${written}" is ${text}` });
  if (bare === '' || /[\s/\\@?#*%]/.test(bare) || !URL.canParse(`http://${bare}/`))
    return fault('no host: a host name, HOST:PORT or *.DOMAIN is expected');
  const { host, hostname, port } = new URL(`http://${bare}/`);
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  if (name === '') return fault('no host: a host name, HOST:PORT or *.DOMAIN is expected');
  if (wild !== '' && (port !== '' || /:\d*$/.test(bare))) return fault('a domain, and those have no port');
  if (wild !== '' && (name.startsWith('[') || /\.\d+$/.test(name))) return fault('an address, and those have no sub-domains');
  if (port === '443' || (port === '' && /:\d*$/.test(bare) && !bare.endsWith(']')))
    return fault('a host with a default port: leave the port out');
  return { text: wild === '' && host !== hostname ? `${name}:${port}` : `${wild}${name}` };
}

/** Whether what was written at this place must not be repeated. */
export function mayBeSecret(path: readonly PropertyKey[]): boolean {
  return path[0] === 'hosts' && ['auth', 'cookies', 'headers', 'proxy'].includes(String(path[2]));
}
