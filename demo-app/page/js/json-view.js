/** Shows a JSON value as coloured text. */

import { h } from "./dom.js";

/** A longer text would cost more than it is worth. */
const MAX_CHARS = 20_000;

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** @returns {HTMLPreElement} that can be scrolled by keys */
export function jsonView(value) {
  const text = value === undefined ? "nothing" : JSON.stringify(value, null, 2);
  const shown = text.slice(0, MAX_CHARS);
  const rest = text.length - shown.length;
  return h(
    "pre",
    { className: "json", tabIndex: 0 },
    h("code", {}, coloured(shown), rest > 0 ? `\n… ${rest} more characters` : ""),
  );
}

function coloured(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [token, string, colon] = match;
    parts.push(text.slice(end, match.index));
    parts.push(h("span", { className: kindOf(string, colon) }, string ?? token), colon ?? "");
    end = match.index + token.length;
  }
  return [...parts, text.slice(end)];
}

function kindOf(string, colon) {
  if (colon) return "json-key";
  return string ? "json-string" : "json-atom";
}
