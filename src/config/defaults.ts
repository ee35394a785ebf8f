/** Defaults that are needed before the schema is loaded. */
export const DEFAULT_MEMORY_BYTES = 256 * 1_048_576;
