/** The secrets of the app. Their values leave the process in its requests only. */

const PREFIX = "LOWDEFY_SECRET_";
/** Shorter values are words that a text may have by chance. */
const MIN_CHARS = 6;

/** Returns the secrets of the environment by the names that `_secret` uses. */
export function readSecrets(environment: NodeJS.ProcessEnv): Record<string, string> {
  const entries = Object.entries(environment).filter(([name]) => name.startsWith(PREFIX));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(PREFIX.length), value ?? ""]));
}

/** Returns what takes the values of secrets out of a text: the errors of connections may have them. */
export function createRedactor(secrets: Record<string, string>): (text: string) => string {
  const values = Object.values(secrets).filter((value) => value.length >= MIN_CHARS);
  const spellings = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), Buffer.from(value).toString("base64")]);
  // The longest first: one secret may be a part of another.
  const all = [...new Set(spellings)].sort((one, other) => other.length - one.length);
  return (text) => all.reduce((rest, value) => rest.replaceAll(value, "(secret)"), text);
}
