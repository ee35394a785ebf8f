/**
 * Where tags, attributes, comments and raw text begin and end: the tokenizer of the HTML Living Standard (section 13.2.5), state for
 * state where a state can change what is found, driven by the caller. It holds no position: every method takes one and returns one.
 *
 * Invariants: units[end] is `>`, so that loops over names and values stop there by themselves. Places found ahead are kept, so the
 * cost is linear in the page whatever it holds. Questions are asked in page order.
 */
import { decodeHTMLAttribute } from 'entities/decode';
import { TAG_NAMES, TAG_SLOTS, tagHash, tagSlot, UNKNOWN_TAG } from './tags.ts';
import { copyUnits, roomFor } from './units.ts';

export const DOUBLE_QUOTE = 34;
export const SINGLE_QUOTE = 39;
export const DASH = 45;
export const SLASH = 47;
export const EQUALS = 61;
export const GREATER = 62;

/** Answer of behindTag when the page ends within the tag. */
export const EOF = -1;

export const HREF = 0;
export const REL = 1;
export const SRC = 2;
export const CONTENT = 3;
export const NAME = 4;
export const HTTP_EQUIV = 5;
export const HREFLANG = 6;
export const MEDIA = 7;
export const TYPE = 8;
export const LANG = 9;
export const XML_LANG = 10;
export const SHADOW_ROOT_MODE = 11;
export const XLINK_HREF = 12;
/** color, face or size: they make a font element one that cannot be inside svg. */
export const FONT_LOOK = 13;
export const ENCODING = 14;
const ATTRIBUTE_COUNT = 15;
const NO_ATTRIBUTE = -1;

const SPACE = 1;
const ENDS_TAG_NAME = 2;
const ENDS_ATTRIBUTE_NAME = 4;
const ENDS_UNQUOTED = 8;
const LETTER = 16;
/** What a unit is; a page's CR counts as the LF it becomes. */
const CLASSES: Readonly<Uint8Array> = unitClasses();

export class HtmlTokens {
  html = '';
  end = 0;
  units: Uint16Array = new Uint16Array(0);

  /** Of the tag read last: its index in the tag table, where its name ends, and whether `/` stood right before its `>`. */
  tag = UNKNOWN_TAG;
  nameEnd = 0;
  isSelfClosing = false;
  /** Attributes of the tag read last with `record`: bit set of those present, and where their values stand. */
  #present = 0;
  #tagStart = 0;
  readonly #valueStarts = new Int32Array(ATTRIBUTE_COUNT);
  readonly #valueEnds = new Int32Array(ATTRIBUTE_COUNT);

  /** Next `<!--`, `-->`, `--!>` and `&` at or behind the place last asked about; `end` when there is none. */
  #commentOpen = -1;
  #commentClose = -1;
  #bangClose = -1;
  #ampersand = -1;

  reset(html: string): void {
    this.html = html;
    this.end = html.length;
    this.units = roomFor(this.units, html.length + 1);
    copyUnits(html, this.units);
    this.units[html.length] = GREATER;
    this.#commentOpen = -1;
    this.#commentClose = -1;
    this.#bangClose = -1;
    this.#ampersand = -1;
  }

  /** Lets go of the page's text. */
  release(): void {
    this.html = '';
  }

  isLetter(at: number): boolean {
    return (CLASSES[this.units[at]!]! & LETTER) !== 0;
  }

  find(needle: string, from: number): number {
    const at = this.html.indexOf(needle, from);
    return at === -1 ? this.end : at;
  }

  nextAmpersand(from: number): number {
    if (this.#ampersand < from) this.#ampersand = this.find('&', from);
    return this.#ampersand;
  }

  #nextCommentClose(from: number): number {
    if (this.#commentClose < from) this.#commentClose = this.find('-->', from);
    return this.#commentClose;
  }

  /** Bogus comments, 13.2.5.41, and doctypes, which any `>` ends, quoted or not. */
  behindGreater(from: number): number {
    const close = this.html.indexOf('>', from);
    return close === -1 ? this.end : close + 1;
  }

  /** Comment states, 13.2.5.43 to 52, from behind `<!--`: ended by `-->` or `--!>`, or at once by `>` or `->`. */
  behindComment(start: number): number {
    const unit = this.units[start];
    if (unit === GREATER) return Math.min(start + 1, this.end);
    if (unit === DASH && this.units[start + 1] === GREATER) return Math.min(start + 2, this.end);
    if (this.#bangClose < start) this.#bangClose = this.find('--!>', start);
    const close = this.#nextCommentClose(start);
    if (this.#bangClose < close) return this.#bangClose + 4;
    return close === this.end ? close : close + 3;
  }

  // Tags

  /** Reads a tag name into `tag` and `nameEnd`; nameEnd is `end` when the page ends first. The caller has seen its first letter. */
  readTagName(nameStart: number): void {
    const units = this.units;
    let at = nameStart;
    let hash = 0;
    let unit = units[at]!;
    do {
      hash = tagHash(hash, unit | 0x20);
      unit = units[++at]!;
    } while ((CLASSES[unit]! & ENDS_TAG_NAME) === 0);
    this.nameEnd = at;
    this.isSelfClosing = false;
    const tag = TAG_SLOTS[tagSlot(hash)]!;
    this.tag = tag !== UNKNOWN_TAG && this.#isName(TAG_NAMES[tag]!, nameStart, at) ? tag : UNKNOWN_TAG;
  }

  /** Whether [start, end) spells `name`, which is in lower case. */
  #isName(name: string, start: number, end: number): boolean {
    const length = name.length;
    if (end - start !== length) return false;
    const units = this.units;
    for (let i = 0; i < length; i++) {
      const unit = units[start + i]!;
      const lower = unit >= 65 && unit <= 90 ? unit | 0x20 : unit;
      if (lower !== name.charCodeAt(i)) return false;
    }
    return true;
  }

  /**
   * The place behind the `>` of the tag whose name was read last, or EOF when the page ends first. With `record`, the first value of
   * each known attribute is kept.
   */
  behindTag(record: boolean): number {
    const nameEnd = this.nameEnd;
    if (!record && this.units[nameEnd] === GREATER && nameEnd < this.end) return nameEnd + 1;
    return this.#readAttributes(nameEnd, record);
  }

  /** Attribute states, 13.2.5.32 to 40, from behind the tag name. */
  #readAttributes(start: number, record: boolean): number {
    const units = this.units;
    const end = this.end;
    let at = start;
    this.#present = 0;
    this.#tagStart = start;
    for (;;) {
      const unit = units[at]!;
      if (unit === GREATER) return at < end ? at + 1 : EOF;
      if ((CLASSES[unit]! & SPACE) !== 0) {
        at++;
        continue;
      }
      if (unit === SLASH) {
        at++;
        this.isSelfClosing = units[at] === GREATER;
        continue;
      }
      const nameStart = at++;
      while ((CLASSES[units[at]!]! & ENDS_ATTRIBUTE_NAME) === 0) at++;
      const nameEnd = at;
      while ((CLASSES[units[at]!]! & SPACE) !== 0) at++;
      let valueStart = at;
      let valueEnd = at;
      if (units[at] === EQUALS) {
        at++;
        while ((CLASSES[units[at]!]! & SPACE) !== 0) at++;
        const quote = units[at]!;
        if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
          valueStart = at + 1;
          valueEnd = this.html.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", valueStart);
          if (valueEnd === -1) return EOF;
          at = valueEnd + 1;
        } else {
          valueStart = at;
          while ((CLASSES[units[at]!]! & ENDS_UNQUOTED) === 0) at++;
          valueEnd = at;
        }
      }
      if (record) this.#record(nameStart, nameEnd, valueStart, valueEnd);
    }
  }

  #record(nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    const attribute = this.#knownAttribute(nameStart, nameEnd);
    if (attribute === NO_ATTRIBUTE || (this.#present & (1 << attribute)) !== 0) return;
    this.#present |= 1 << attribute;
    this.#valueStarts[attribute] = valueStart;
    this.#valueEnds[attribute] = valueEnd;
  }

  #knownAttribute(start: number, end: number): number {
    switch (end - start) {
      case 3:
        return this.#isName('rel', start, end) ? REL : this.#isName('src', start, end) ? SRC : NO_ATTRIBUTE;
      case 4:
        if (this.#isName('href', start, end)) return HREF;
        if (this.#isName('name', start, end)) return NAME;
        if (this.#isName('lang', start, end)) return LANG;
        if (this.#isName('type', start, end)) return TYPE;
        return this.#isName('face', start, end) || this.#isName('size', start, end) ? FONT_LOOK : NO_ATTRIBUTE;
      case 5:
        return this.#isName('media', start, end) ? MEDIA : this.#isName('color', start, end) ? FONT_LOOK : NO_ATTRIBUTE;
      case 7:
        return this.#isName('content', start, end) ? CONTENT : NO_ATTRIBUTE;
      case 8:
        if (this.#isName('hreflang', start, end)) return HREFLANG;
        if (this.#isName('xml:lang', start, end)) return XML_LANG;
        return this.#isName('encoding', start, end) ? ENCODING : NO_ATTRIBUTE;
      case 10:
        return this.#isName('http-equiv', start, end) ? HTTP_EQUIV : this.#isName('xlink:href', start, end) ? XLINK_HREF : NO_ATTRIBUTE;
      case 14:
        return this.#isName('shadowrootmode', start, end) ? SHADOW_ROOT_MODE : NO_ATTRIBUTE;
      default:
        return NO_ATTRIBUTE;
    }
  }

  has(attribute: number): boolean {
    return (this.#present & (1 << attribute)) !== 0;
  }

  /** Value of a recorded attribute, references decoded, controls and spaces trimmed from both ends; undefined when missing. */
  value(attribute: number): string | undefined {
    if (!this.has(attribute)) return undefined;
    const units = this.units;
    let start = this.#valueStarts[attribute]!;
    let end = this.#valueEnds[attribute]!;
    while (start < end && units[start]! <= 32) start++;
    while (start < end && units[end - 1]! <= 32) end--;
    const raw = this.html.slice(start, end);
    const value = this.nextAmpersand(this.#tagStart) < end && raw.includes('&') ? trimControls(decodeHTMLAttribute(raw)) : raw;
    return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
  }

  // Elements whose content is text

  /** Place of the next `</name` that a space, `/` or `>` follows; the end of the page without one (13.2.5.9 to 14). */
  rawEnd(name: string, from: number): number {
    let at = this.html.indexOf('</', from);
    while (at !== -1) {
      if (this.#isNamed(name, at + 2)) return at;
      at = this.html.indexOf('</', at + 2);
    }
    return this.end;
  }

  #isNamed(name: string, start: number): boolean {
    const nameEnd = start + name.length;
    return nameEnd < this.end && (CLASSES[this.units[nameEnd]!]! & ENDS_TAG_NAME) !== 0 && this.#isName(name, start, nameEnd);
  }

  /**
   * Where the end tag of a script stands (13.2.5.15 to 31). Behind `<!--`, up to `-->`, a `<script` makes the next `</script` part of
   * the script.
   */
  scriptEnd(start: number): number {
    const end = this.end;
    let at = start;
    let close = this.rawEnd('script', at);
    let nested = -1;
    for (;;) {
      if (this.#commentOpen < at) this.#commentOpen = this.find('<!--', at);
      const escapeStart = this.#commentOpen;
      if (close < escapeStart || escapeStart === end) return close;
      const escapeEnd = this.#nextCommentClose(escapeStart + 2);
      at = escapeStart + 4;
      for (;;) {
        if (close < at) close = this.rawEnd('script', at);
        if (nested < at) nested = this.#scriptStart(at, escapeEnd);
        if (close < nested && close < escapeEnd) return close;
        if (nested >= escapeEnd) break;
        if (close < nested + 7) close = this.rawEnd('script', nested + 7);
        if (close >= escapeEnd) break;
        at = close + 8;
      }
      if (escapeEnd === end) return end;
      at = escapeEnd + 3;
      if (close < at) close = this.rawEnd('script', at);
    }
  }

  /** Place of the next `<script` that a space, `/` or `>` follows, before `limit`; `limit` without one. */
  #scriptStart(from: number, limit: number): number {
    let at = this.html.indexOf('<', from);
    while (at !== -1 && at < limit) {
      if (this.#isNamed('script', at + 1)) return at;
      at = this.html.indexOf('<', at + 1);
    }
    return limit;
  }
}

function trimControls(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) <= 32) start++;
  while (start < end && text.charCodeAt(end - 1) <= 32) end--;
  return text.slice(start, end);
}

function unitClasses(): Uint8Array {
  const classes = new Uint8Array(1 << 16);
  for (const unit of [9, 10, 12, 13, 32]) classes[unit] = SPACE | ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME | ENDS_UNQUOTED;
  classes[SLASH] = ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME;
  classes[GREATER] = ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME | ENDS_UNQUOTED;
  classes[EQUALS] = ENDS_ATTRIBUTE_NAME;
  for (let letter = 65; letter <= 90; letter++) classes[letter] = classes[letter | 0x20] = LETTER;
  return classes;
}
