/** The secrets of the app. Their values leave the process only in its requests. */

const PREFIX = "LOWDEFY_SECRET_";
/** Shorter values are words that may occur in a text by chance. */
const MIN_CHARS = 4;
const HIDDEN = "(secret)";

/** Removes the values of secrets from texts and values. */
export interface Redactor {
  text(text: string): string;
  /** Returns a JSON value without secrets, whether in texts, in the keys of objects or as numbers. */
  value(value: unknown): unknown;
}

/** Returns the secrets of the environment, by the names that `_secret` uses. */
export function readSecrets(environment: NodeJS.ProcessEnv): Record<string, string> {
  const entries = Object.entries(environment).filter(([name]) => name.startsWith(PREFIX));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(PREFIX.length), value ?? ""]));
}

/** Returns a redactor that removes the values of secrets from responses and errors of connections. */
export function createRedactor(secrets: Record<string, string>): Redactor {
  // The longest first, because one secret may be part of another.
  const values = Object.values(secrets).filter((value) => value.length >= MIN_CHARS).sort((one, other) => other.length - one.length);
  const patterns = values.map((value) => new RegExp([patternOf(value), ...base64PatternsOf(value)].join("|"), "g"));
  const numbers = new Set(values.filter((value) => value.trim()).map(Number).filter(Number.isFinite));
  const text = (whole: string) => patterns.reduce((rest, pattern) => rest.replace(pattern, HIDDEN), whole);
  const redact = (value: unknown): unknown => {
    if (typeof value === "string") return text(value);
    if (typeof value === "number") return numbers.has(value) ? HIDDEN : value;
    if (Array.isArray(value)) return value.map(redact);
    if (typeof value !== "object" || value === null || value instanceof Date) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), redact(inner)]));
  };
  return { text, value: redact };
}

/**
 * Returns a pattern for a value in which any character may be escaped as in JSON or encoded as in a URL, once or
 * repeatedly.
 */
const patternOf = (value: string): string => [...value].map(characterPattern).join("");

function characterPattern(character: string): string {
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25)*${hexPattern(byte, 2)}`).join("");
  const units = Array.from({ length: character.length }, (_, index) => `\\\\u${hexPattern(character.charCodeAt(index), 4)}`).join("");
  const short = JSON.stringify(character).slice(1, -1);
  const spellings = [character, short, character === "/" ? "\\/" : "", character === " " ? "+" : ""].filter(Boolean).map(escape);
  return `(?:${[...new Set(spellings), percent, units].join("|")})`;
}

/** Returns a pattern for a number with hexadecimal digits in upper or lower case. */
const hexPattern = (number: number, digits: number): string => number.toString(16).padStart(digits, "0").replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/**
 * Returns patterns for the base64 of a value at any position in the encoded text, in both alphabets, without the characters
 * that depend on its neighbours.
 */
function base64PatternsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64").replace(/=+$/, "");
    const own = encoded.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
    return own.length >= MIN_CHARS ? [own.replace(/[+/]/g, (character) => (character === "+" ? "(?:[-+]|%2[bB])" : "(?:[_/]|%2[fF])"))] : [];
  });
}
