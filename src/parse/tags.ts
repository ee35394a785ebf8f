/**
 * The element names the scanner has to know, and what each means to it.
 *
 * A name is found by hash: `tagHash` is folded over its lower-cased characters, TAG_SLOTS maps the hash to an index into TAG_NAMES and
 * TAG_TRAITS, and the caller compares the name itself. A test proves that no two known names share a slot.
 */

/** Content is text up to the end tag: no markup, no references. */
export const RAW_TEXT = 1 << 0;
/** Content is text with references up to the end tag. */
export const ESCAPABLE_TEXT = 1 << 1;
/** Raw text whose content is shown. */
export const SHOWN_RAW = 1 << 2;
/** Its attributes matter: a link, a rule of the page, or a mode of the scanner. */
export const HANDLED = 1 << 3;
/** Starts and ends a line of text. */
export const BLOCK = 1 << 4;
/** Separates words of text. */
export const WORD_BREAK = 1 << 5;
/** Kept on the landmark stack: left out of the main text, or decides whether something else is. */
export const LANDMARK = 1 << 6;
/** Cannot be inside svg or math: its start tag ends them. */
export const BREAKOUT = 1 << 7;
/** An HTML element; its end tag inside svg or math belongs to an element around them. */
export const HTML_ONLY = 1 << 8;
/** Opens svg, math or a way back to HTML inside them. */
export const FOREIGN = 1 << 9;
/** Navigation: its subtree is left out of the main text (header: only outside article). */
export const ASIDE = 1 << 10;

const TEXT_BLOCK = BLOCK | HTML_ONLY;
const BREAKING_BLOCK = BLOCK | BREAKOUT | HTML_ONLY;
const BREAKING = BREAKOUT | HTML_ONLY;
const OFF_MAIN_BLOCK = BLOCK | LANDMARK | ASIDE | HTML_ONLY;
const CONTROL = WORD_BREAK | LANDMARK | ASIDE | HTML_ONLY;

export type TagName = (typeof TAG_TABLE)[number][0];
export const TAG_TABLE = [
  ['', 0],
  ['a', HANDLED],
  ['area', HANDLED],
  ['frame', HANDLED],
  ['iframe', HANDLED | RAW_TEXT],
  ['link', HANDLED],
  ['meta', HANDLED | BREAKOUT | HTML_ONLY],
  ['base', HANDLED],
  ['html', HANDLED],
  ['title', HANDLED | ESCAPABLE_TEXT | FOREIGN],
  ['template', HANDLED],
  ['script', RAW_TEXT],
  ['style', RAW_TEXT],
  ['noembed', RAW_TEXT],
  ['noframes', RAW_TEXT],
  ['xmp', RAW_TEXT | SHOWN_RAW | BLOCK],
  ['plaintext', RAW_TEXT | SHOWN_RAW | BLOCK],
  ['textarea', ESCAPABLE_TEXT | SHOWN_RAW | WORD_BREAK | ASIDE],
  ['svg', FOREIGN],
  ['math', FOREIGN],
  ['foreignobject', FOREIGN],
  ['desc', FOREIGN],
  ['annotation-xml', FOREIGN],
  ['mi', FOREIGN],
  ['mo', FOREIGN],
  ['mn', FOREIGN],
  ['ms', FOREIGN],
  ['mtext', FOREIGN],
  ['font', HANDLED],
  ['nav', OFF_MAIN_BLOCK],
  ['header', OFF_MAIN_BLOCK],
  ['footer', OFF_MAIN_BLOCK],
  ['aside', OFF_MAIN_BLOCK],
  ['article', BLOCK | LANDMARK | HTML_ONLY],
  ['main', BLOCK | LANDMARK | HTML_ONLY],
  ['button', CONTROL],
  ['select', CONTROL],
  ['datalist', CONTROL],
  ['address', TEXT_BLOCK],
  ['blockquote', BREAKING_BLOCK],
  ['body', BREAKING_BLOCK],
  ['br', BREAKING_BLOCK],
  ['caption', TEXT_BLOCK],
  ['center', BREAKING_BLOCK],
  ['dd', BREAKING_BLOCK],
  ['details', TEXT_BLOCK],
  ['dialog', TEXT_BLOCK],
  ['dir', TEXT_BLOCK],
  ['div', BREAKING_BLOCK],
  ['dl', BREAKING_BLOCK],
  ['dt', BREAKING_BLOCK],
  ['fieldset', TEXT_BLOCK],
  ['figcaption', TEXT_BLOCK],
  ['figure', TEXT_BLOCK],
  ['form', TEXT_BLOCK],
  ['h1', BREAKING_BLOCK],
  ['h2', BREAKING_BLOCK],
  ['h3', BREAKING_BLOCK],
  ['h4', BREAKING_BLOCK],
  ['h5', BREAKING_BLOCK],
  ['h6', BREAKING_BLOCK],
  ['head', BREAKING_BLOCK],
  ['hgroup', TEXT_BLOCK],
  ['hr', BREAKING_BLOCK],
  ['legend', TEXT_BLOCK],
  ['li', BREAKING_BLOCK],
  ['listing', BREAKING_BLOCK],
  ['menu', BREAKING_BLOCK],
  ['ol', BREAKING_BLOCK],
  ['optgroup', WORD_BREAK | HTML_ONLY],
  ['option', WORD_BREAK | HTML_ONLY],
  ['p', BREAKING_BLOCK],
  ['pre', BREAKING_BLOCK],
  ['search', TEXT_BLOCK],
  ['section', TEXT_BLOCK],
  ['summary', TEXT_BLOCK],
  ['table', BREAKING_BLOCK],
  ['tbody', TEXT_BLOCK],
  ['td', WORD_BREAK | HTML_ONLY],
  ['tfoot', TEXT_BLOCK],
  ['th', WORD_BREAK | HTML_ONLY],
  ['thead', TEXT_BLOCK],
  ['tr', TEXT_BLOCK],
  ['ul', BREAKING_BLOCK],
  ['b', BREAKING],
  ['big', BREAKING],
  ['code', BREAKING],
  ['em', BREAKING],
  ['embed', BREAKING],
  ['i', BREAKING],
  ['img', BREAKING],
  ['nobr', BREAKING],
  ['ruby', BREAKING],
  ['s', BREAKING],
  ['small', BREAKING],
  ['span', BREAKING],
  ['strong', BREAKING],
  ['strike', BREAKING],
  ['sub', BREAKING],
  ['sup', BREAKING],
  ['tt', BREAKING],
  ['u', BREAKING],
  ['var', BREAKING],
] as const satisfies readonly (readonly [string, number])[];

export const TAG_NAMES: readonly TagName[] = TAG_TABLE.map(([name]) => name);
export const TAG_TRAITS: Readonly<Int32Array> = Int32Array.from(TAG_TABLE, ([, traits]) => traits);

/** The index of names the scanner has no use for. */
export const UNKNOWN_TAG = 0;

/** Index of a known name. */
export function tagIndex(name: TagName): number {
  return TAG_NAMES.indexOf(name);
}

const SLOT_BITS = 11;
const SLOT_SHIFT = 32 - SLOT_BITS;
/** The hash of a name is tagHash folded from 0 over each character | 0x20. */
export function tagHash(hash: number, unit: number): number {
  return (Math.imul(hash, 43) + unit) | 0;
}
export function tagSlot(hash: number): number {
  return Math.imul(hash, 0x27d4eb2f) >>> SLOT_SHIFT;
}
/** Slot to tag index; 0 for no known name. */
export const TAG_SLOTS: Readonly<Uint8Array> = tagSlots();

function tagSlots(): Uint8Array {
  const slots = new Uint8Array(1 << SLOT_BITS);
  TAG_NAMES.forEach((name, index) => {
    let hash = 0;
    for (let i = 0; i < name.length; i++) hash = tagHash(hash, name.charCodeAt(i) | 0x20);
    if (index > 0) slots[tagSlot(hash)] = index;
  });
  return slots;
}
