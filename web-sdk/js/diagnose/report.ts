/** `mcpWeb.diagnose()`: every check, and a text about them for a bug report. */

import { bridgeFacts, pageFacts } from "./addresses.js";
import { bridgeChecks } from "./bridge.js";
import { contextChecks } from "./context.js";
import { connectionCheck, definitionsCheck, lifecycleCheck } from "./state.js";
import { tokenCheck } from "./token.js";

const SIGNS = { passed: "ok", failed: "FAILED", warning: "warning", unknown: "?" };

/**
 * `{ ok, summary, checks }`. `facts`: what the module knows of itself; the token is among them, and in nothing that
 * comes out.
 */
export async function diagnose(facts) {
  const [page, bridge] = [pageFacts(), bridgeFacts(facts.bridgeUrl)];
  const groups = await Promise.all([
    contextChecks(page, bridge, facts),
    bridgeChecks(page, bridge, facts),
    [tokenCheck(facts), connectionCheck(facts), definitionsCheck(facts), lifecycleCheck()],
  ]);
  const hide = hiding(facts.token);
  const checks = groups.flat().map((check) => clean(check, hide));
  const ok = checks.every(({ status }) => status !== "failed");
  return { ok, summary: hide(summary(page, facts, checks)), checks };
}

function summary(page, { bridgeUrl, status, sessionId, sessionName }, checks) {
  const lines = checks.flatMap(({ name, status, message, remedy }) => [
    `[${SIGNS[status]}] ${name}: ${message}`,
    ...(remedy ? [`    → ${remedy}`] : []),
  ]);
  return [
    `MCP-Web: ${page.origin} → ${bridgeUrl}`,
    `status ${status.state}${status.error ? ` (${status.error.code})` : ""}, session ${sessionName ?? sessionId ?? "none"}`,
    `browser ${globalThis.navigator?.userAgent ?? "none"}, at ${new Date().toISOString()}`,
    ...lines,
  ].join("\n");
}

/** A token may stand in the words of others, such as an error of the app's own. */
function hiding(token) {
  return (text) => (token ? text.replaceAll(token, "(the token)") : text);
}

function clean({ name, status, message, remedy }, hide) {
  return { name, status, message: hide(message), ...(remedy && { remedy: hide(remedy) }) };
}
