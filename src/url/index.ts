/** The room's doors. Order of a link's life: resolve → splitUrl → canonicalise → urlKey → registrableDomain → shardOf. */
export { CANONICALIZER_VERSION, createCanonicalizer } from './canonical.ts';
export { type CanonicalOptions, DEFAULT_CANONICAL_OPTIONS, looksLikeSessionId } from './canonical-options.ts';
export { DomainTable, hasKnownSuffix, registrableDomain } from './domain.ts';
export { HostPatterns } from './host-pattern.ts';
export { keyHex, urlKey } from './key.ts';
export { HREF_CHARS_MAX, LinkResolver } from './resolve.ts';
export { parseSeed } from './seed.ts';
export { SHARD_FUNCTION_VERSION, shardOf } from './shard.ts';
export { type SplitUrl, splitUrl } from './split.ts';
