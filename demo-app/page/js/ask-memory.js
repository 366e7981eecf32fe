/** What was asked, for the next document of this tab: the SDK keeps the queries, not what they are called. */

const KEY = "mcp-web-demo.asked";

/** @param {string} uuid @param {{ title: string, lines?: string }} question */
export function remember(uuid, { title, lines }) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ uuid, title, lines }));
  } catch {
    // No storage: after a reload the answer has no heading.
  }
}

/** @returns {{ title: string, lines?: string }} */
export function remembered(uuid) {
  const unknown = { title: "What you asked before the reload" };
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY));
    return kept?.uuid === uuid ? kept : unknown;
  } catch {
    return unknown;
  }
}
