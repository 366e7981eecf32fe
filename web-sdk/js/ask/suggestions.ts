/** The attribute `suggestions`. */

/** Returns the texts of a JSON array. Something else is reported, and has none. */
export function parseSuggestions(json: string | null): string[] {
  if (json === null) return [];
  try {
    const texts: unknown = JSON.parse(json);
    if (Array.isArray(texts) && texts.every((text) => typeof text === "string")) return texts;
  } catch {
    // The warning below says what is expected.
  }
  console.warn(`mcp-web: the attribute suggestions of <mcp-web-ask> must be a JSON array of texts, and is ${json}`);
  return [];
}
