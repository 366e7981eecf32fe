/** The attribute `suggestions`. */

/** Returns the texts of a JSON array. Any other value is reported, and results in no texts. */
export function parseSuggestions(json: string | null): string[] {
  if (json === null) return [];
  try {
    const texts: unknown = JSON.parse(json);
    if (Array.isArray(texts) && texts.every((text) => typeof text === "string")) return texts;
  } catch {
    // The warning below describes the expected value.
  }
  console.warn(`mcp-web: the attribute suggestions of <mcp-web-ask> must be a JSON array of texts, and is ${json}`);
  return [];
}
