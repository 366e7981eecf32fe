/** Asks the user of the page in place of the client's own form (MCP elicitation). */

export function elicit() {
  throw new Error("not there yet");
}
