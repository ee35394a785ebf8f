/**
 * Words and sentences of the benchmark web: invented words with a skewed frequency, a topic per page, so that two pages are never near-duplicates
 * while a page still compresses about as well as real prose does (3 : 1).
 */
import { type Seeded, seeded } from '../../test/support/seeded.ts';

const HEADS = 'b c d f g h j k l m n p r s t v z bl br ch cl cr dr fl fr gl gr pl pr qu sc sh sl sp st th tr w'.split(' ');
const VOWELS = 'a e i o u ae ai ea ei io ou y'.split(' ');
const TAILS = ['', '', '', '', 'b', 'd', 'l', 'm', 'n', 'nt', 'r', 'rd', 's', 'sh', 't', 'x'];
const COMMON =
  'the of and to in for is on that by this with you it not or be are from at as your all have new more an was we will can us about if my has but our one other do no they he up may what which their out use any there see only so his when here who also now get first am been would how were me'.split(
    ' ',
  );
const VOCABULARY_SIZE = 12_000;
const TOPIC_SIZE = 260;
const PHRASES_MAX = 180;

/** The same list for the same seed: 12,000 distinct words of 3 to 12 letters. */
export function vocabulary(seed: number): readonly string[] {
  const r = seeded(seed, 77);
  const words = new Set<string>();
  while (words.size < VOCABULARY_SIZE) {
    let word = '';
    for (let syllables = 1 + r.int(3); syllables > 0; syllables--) word += r.pick(HEADS) + r.pick(VOWELS) + r.pick(TAILS);
    if (word.length >= 3 && word.length <= 12) words.add(word);
  }
  return [...words];
}

export interface Prose {
  words(count: number): string;
  /** With a capital and without a full stop. */
  title(count: number): string;
  sentence(): string;
}

export function proseOf(words: readonly string[], r: Seeded): Prose {
  const topic = Array.from({ length: TOPIC_SIZE }, () => r.pick(words));
  const phrases: string[] = [];
  const word = (): string => {
    const x = r.next();
    if (x < 0.4) return COMMON[Math.floor(r.next() ** 2 * COMMON.length)] ?? 'the';
    if (x < 0.85) return topic[Math.floor(r.next() ** 1.5 * TOPIC_SIZE)] ?? 'topic';
    return r.pick(words);
  };
  const phrase = (): string => {
    if (phrases.length > 30 && r.chance(0.5)) return r.pick(phrases);
    const made = `${word()} ${word()} ${word()}`;
    if (phrases.length < PHRASES_MAX) phrases.push(made);
    return made;
  };
  const some = (count: number): string => {
    let text = count >= 3 ? phrase() : word();
    let have = count >= 3 ? 3 : 1;
    for (; have + 3 <= count; have += 3) text += ` ${phrase()}`;
    for (; have < count; have++) text += ` ${word()}`;
    return text;
  };
  const title = (count: number): string => {
    const text = some(count);
    return text.charAt(0).toUpperCase() + text.slice(1);
  };
  return { words: some, title, sentence: () => `${title(7 + r.int(15))}${r.chance(0.92) ? '.' : '?'} ` };
}
