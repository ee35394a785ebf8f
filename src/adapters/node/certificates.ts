/** Reads a file of certificate authorities in PEM, and makes sure that there is one in it. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PortolanError } from '../../core/errors.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** `key`: of the configuration, for the message. Throws PORTOLAN_CONFIG_INVALID. */
export function readCertificates(file: string, key: string): readonly string[] {
  try {
    const found = readFileSync(file, 'latin1').match(CERTIFICATE) ?? [];
    for (const pem of found) new X509Certificate(pem);
    if (found.length > 0) return found;
  } catch (cause) {
    throw refusal(key, `${file} cannot be read: ${(cause as Error).message}`, cause);
  }
  throw refusal(key, `${file} holds no certificate`, undefined);
}

function refusal(key: string, what: string, cause: unknown): PortolanError {
  return new PortolanError('PORTOLAN_CONFIG_INVALID', `${key}: ${what}`, {
    remedy: 'name a file in PEM, with lines of BEGIN CERTIFICATE and END CERTIFICATE; the path is taken from where portolan is started',
    cause,
  });
}
