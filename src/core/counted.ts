/** Counts in sentences for people: `1 page`, `12,345 pages`, `1 host waits`, `2 hosts wait`. Every text that tells a number of things goes through here. */

/** `12,345`: whole, with separators. Not by `toLocaleString`, which reads the tables of all languages first: 15 ms of an answer that takes 80. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** The number and what there are of it; `many` where adding an s to `one` is not its plural. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${numbered(value, one, many)}`;
}

/** Of the two words the one that stands after this number. */
export function numbered(value: number, one: string, many = `${one}s`): string {
  return Math.round(value) === 1 ? one : many;
}
