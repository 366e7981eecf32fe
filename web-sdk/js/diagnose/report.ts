/** `mcpWeb.diagnose()`: all checks, with a text about them for a bug report. */

import type { Diagnosis, DiagnosisCheck } from "../types/status.ts";
import { type PageEnvironment, bridgeFacts, pageFacts } from "./addresses.ts";
import { bridgeChecks } from "./bridge.ts";
import { contextChecks } from "./context.ts";
import type { McpWeb } from "../mcp-web.ts";
import type { McpWebOptions } from "../types/options.ts";
import type { DefinitionFacts, DiagnosisFacts } from "./diagnosis-facts.ts";
import { connectionCheck, definitionsCheck, lifecycleCheck } from "./state.ts";
import { tokenCheck } from "./token.ts";

const SIGNS = { passed: "ok", failed: "FAILED", warning: "warning", unknown: "?" };

/** Checks that apply only to browsers, not to other processes. */
const OF_BROWSERS = new Set([
  "browser",
  "origin",
  "frame",
  "mixed content",
  "local network access",
  "storage",
  "content security policy",
  "origin at the bridge",
  "page",
]);

/** The parts of the page that a diagnosis uses. */
export type DiagnosedPage = Pick<McpWeb, "bridgeUrl" | "status" | "sessionId" | "sessionName" | "authToken">;

/** Runs all checks. The returned data never contains the token. */
export async function diagnose(
  { bridgeUrl, status, sessionId, sessionName, authToken: token }: DiagnosedPage,
  { storage = "local", authToken, ...others }: McpWebOptions,
  definitions: DefinitionFacts[],
): Promise<Diagnosis> {
  const tokenIsFetched = typeof authToken === "function";
  // `mcp-web-sdk/node` always passes a class for the socket.
  const isProcess = "WebSocket" in others;
  const facts = { bridgeUrl, status, sessionId, sessionName, storage, token, tokenIsFetched, definitions };
  const [page, bridge] = [pageFacts(), bridgeFacts(facts.bridgeUrl)];
  const groups = await Promise.all([
    contextChecks(page, bridge, facts),
    bridgeChecks(page, bridge, facts),
    [tokenCheck(facts), connectionCheck(facts), definitionsCheck(facts), lifecycleCheck()],
  ]);
  const hide = hideToken(facts.token);
  const known = groups.flat().filter(({ name }) => !isProcess || !OF_BROWSERS.has(name));
  const checks = known.map((check) => hideTokenIn(check, hide));
  const ok = checks.every(({ status }) => status !== "failed");
  return { ok, summary: hide(summary(isProcess ? undefined : page, facts, checks)), checks };
}

function summary(page: PageEnvironment | undefined, facts: DiagnosisFacts, checks: DiagnosisCheck[]): string {
  const { bridgeUrl, status, sessionId, sessionName } = facts;
  const error = "error" in status ? status.error : undefined;
  const lines = checks.flatMap(({ name, status, message, remedy }) => [
    `[${SIGNS[status]}] ${name}: ${message}`,
    ...(remedy ? [`    → ${remedy}`] : []),
  ]);
  return [
    `MCP-Web: ${page ? page.origin : "a process"} → ${bridgeUrl}`,
    `status ${status.state}${error ? ` (${error.code})` : ""}, session ${sessionName ?? sessionId ?? "none"}`,
    `${page ? "browser" : "runtime"} ${globalThis.navigator?.userAgent ?? "none"}, at ${new Date().toISOString()}`,
    ...lines,
  ].join("\n");
}

/** A token may be part of other texts, such as an error of the app. */
function hideToken(token: string | undefined) {
  return (text: string) => (token ? text.replaceAll(token, "(the token)") : text);
}

function hideTokenIn({ name, status, message, remedy }: DiagnosisCheck, hide: (text: string) => string): DiagnosisCheck {
  return { name, status, message: hide(message), ...(remedy && { remedy: hide(remedy) }) };
}
