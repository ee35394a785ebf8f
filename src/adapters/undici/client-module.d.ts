/** The one file of undici that is loaded; the package has no declaration of it. */
declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici';

  const client: typeof Client;
  export = client;
}
