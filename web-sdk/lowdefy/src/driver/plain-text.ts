/** Converts HTML and values to the text that a person would read. */

/** Tags that end a line. */
const BLOCK_TAGS = /<(?:br|hr)\b[^>]*>|<\/(?:p|div|li|tr|h[1-6]|ul|ol|table|blockquote|pre)\s*>/gi;
const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Returns the text of HTML, without scripts and styles. */
export function textOfHtml(html: string): string {
  if (!/[<&]/.test(html)) return html;
  return html
    .replace(/<(script|style)\b[^]*?<\/\1\s*>/gi, "")
    .replace(/<!--[^]*?-->/g, "")
    .replace(BLOCK_TAGS, "\n")
    .replace(/<\/?[a-z][^>]*>/gi, "")
    .replace(/&(#x?[\da-f]+|\w+);/gi, (entity, name: string) => decode(name) ?? entity)
    .replace(/[ \t]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function decode(name: string): string | undefined {
  if (!name.startsWith("#")) return NAMED[name.toLowerCase()];
  const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

/** Returns a value as a text: dates in ISO 8601, objects as JSON, and an empty text for no value. */
export function textOfValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "" : value.toISOString();
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

/** Returns a property as a text, if it is one. */
export const textProperty = (value: unknown): string | undefined =>
  typeof value === "string" && value ? textOfHtml(value) : typeof value === "number" ? String(value) : undefined;
