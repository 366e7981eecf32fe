/** The secrets of the app. Their values leave the process in its requests only. */

const PREFIX = "LOWDEFY_SECRET_";
/** Shorter values are words that a text may have by chance. */
const MIN_CHARS = 4;

/** Returns the secrets of the environment by the names that `_secret` uses. */
export function readSecrets(environment: NodeJS.ProcessEnv): Record<string, string> {
  const entries = Object.entries(environment).filter(([name]) => name.startsWith(PREFIX));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(PREFIX.length), value ?? ""]));
}

/** Returns what takes the values of secrets out of a text: the errors of connections may have them. */
export function createRedactor(secrets: Record<string, string>): (text: string) => string {
  const values = Object.values(secrets).filter((value) => value.length >= MIN_CHARS);
  const spellings = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), ...base64Of(value)]);
  // The longest first: one secret may be a part of another.
  const all = [...new Set(spellings)].sort((one, other) => other.length - one.length);
  return (text) => all.reduce((rest, value) => rest.replaceAll(value, "(secret)"), text);
}

/** The base64 of a value wherever it stands in what is encoded, without the characters that its neighbours decide. */
function base64Of(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64").replace(/=+$/, "");
    const own = encoded.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
    return own.length >= MIN_CHARS ? [own] : [];
  });
}

/** Takes the values of secrets out of all texts in a value of JSON. */
export function redactDeep(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactDeep(item, redact));
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redactDeep(inner, redact)]));
}
