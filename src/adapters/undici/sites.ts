/** What of a connection is another for single hosts: trust in certificates, and a proxy in front. */
import tls from 'node:tls';
import type { TlsOptions } from './connector.ts';

export interface SiteProxy {
  /** Name, or address with the brackets of IPv6; its certificate is checked against it. */
  readonly host: string;
  readonly port: number;
  /** TLS to the proxy itself. */
  readonly secure: boolean;
  /** Value of Proxy-Authorization. */
  readonly authorization: string | undefined;
}

export interface Site {
  /** In PEM, trusted beside the usual ones. */
  readonly extraCa?: readonly string[] | undefined;
  /** Certificates are not checked. */
  readonly insecureTls?: boolean | undefined;
  /** The address of a request is then the proxy's. */
  readonly proxy?: SiteProxy | undefined;
}

/** Sites by host key; what takes long to make is made once for each set of authorities. */
export class SiteBook {
  readonly #find: (hostKey: string) => Site | undefined;
  readonly #contexts = new Map<readonly string[], tls.SecureContext>();

  constructor(find: (hostKey: string) => Site | undefined = () => undefined) {
    this.#find = find;
  }

  of(origin: string): { readonly tls: TlsOptions | undefined; readonly proxy: SiteProxy | undefined } | undefined {
    const site = this.#find(origin.slice(origin.indexOf('//') + 2));
    if (site === undefined) return undefined;
    const { extraCa, insecureTls = false, proxy } = site;
    if (extraCa === undefined) return { tls: insecureTls ? { insecure: true } : undefined, proxy };
    return { tls: { insecure: insecureTls, secureContext: this.#contextOf(extraCa) }, proxy };
  }

  #contextOf(extra: readonly string[]): tls.SecureContext {
    const known = this.#contexts.get(extra);
    if (known !== undefined) return known;
    const made = tls.createSecureContext({ ca: [...tls.getCACertificates('default'), ...extra] });
    this.#contexts.set(extra, made);
    return made;
  }
}
