/** Checks the abilities of the page's environment. */

import type { DiagnosisCheck } from "../types/status.ts";
import { type BridgeFacts, type PageEnvironment, isLoopback } from "./addresses.ts";
import { failed, failedBy, passed, unknown, warning } from "./check.ts";
import { localNetworkRestriction } from "./explain.ts";
import type { DiagnosisFacts } from "./diagnosis-facts.ts";
import { permissionFor } from "./permission.ts";
import { restrictions } from "./browser-restrictions.ts";

/** The smallest valid module of WebAssembly. */
const SMALLEST_WASM = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

export async function contextChecks(page: PageEnvironment, bridge: BridgeFacts, facts: DiagnosisFacts): Promise<DiagnosisCheck[]> {
  return [
    browser(),
    origin(page),
    frame(page),
    mixedContent(page, bridge),
    await localNetwork(page, bridge),
    await wasm(),
    storage(facts),
  ];
}

function browser() {
  const { document, isSecureContext } = globalThis;
  if (!document && !("WorkerGlobalScope" in globalThis)) return failed("browser", "this code runs on a server", "call it in a page");
  const where = document ? "a document" : "a worker";
  return passed("browser", `${where}, ${isSecureContext ? "a secure context" : "an insecure context"}`);
}

function origin({ origin, framed, protocol }: PageEnvironment) {
  if (origin !== "null") return passed("origin", origin);
  return failedBy("origin", framed ? restrictions.frameSandbox() : restrictions.noOrigin(protocol));
}

function frame({ framed, origin }: PageEnvironment) {
  if (!framed) return passed("frame", "not in an iframe");
  return passed("frame", origin === "null" ? "in a sandboxed iframe" : "in an iframe");
}

function mixedContent(page: PageEnvironment, bridge: BridgeFacts) {
  const name = "mixed content";
  if (!page.https || bridge.https) return passed(name, `${page.https ? "https" : "http"} page, ${bridge.https ? "https" : "http"} bridge`);
  if (bridge.loopback) return passed(name, "https page, http bridge on this device: allowed except in Safari");
  if (bridge.local) return warning(name, "https page, http bridge on the local network: not every browser allows that");
  return failedBy(name, restrictions.mixedContent(bridge));
}

async function localNetwork(page: PageEnvironment, bridge: BridgeFacts) {
  const name = "local network access";
  const permission = await permissionFor(bridge);
  if (!permission) {
    const needed = bridge.loopback || bridge.local;
    return needed ? unknown(name, "this browser knows no such permission") : passed(name, "the bridge's address needs none");
  }
  const restriction = await localNetworkRestriction(page, bridge);
  if (restriction) return failedBy(name, restriction);
  const { state } = permission;
  if (state === "prompt" && !isLoopback(page.hostname)) {
    return warning(name, `${permission.name}: the browser will ask, or is asking`, restrictions.localNetworkPending(bridge).remedy);
  }
  return passed(name, state === "granted" ? `${permission.name}: granted` : "a page of this device needs none");
}

async function wasm() {
  try {
    await WebAssembly.compile(SMALLEST_WASM);
    return passed("wasm", "allowed");
  } catch {
    if (typeof WebAssembly !== "object") return failed("wasm", "this browser has no WebAssembly", "use a newer one");
    return failedBy("wasm", restrictions.wasm());
  }
}

function storage({ storage }: DiagnosisFacts) {
  if (storage === "none") return passed("storage", 'not used (storage: "none")');
  const names: StorageName[] = ["sessionStorage", `${storage}Storage`];
  const missing = names.find((name) => !works(name));
  if (!missing) return passed("storage", `${[...new Set(names)].join(" and ")} can be used`);
  return warning(
    "storage",
    `${missing} cannot be used, so that a reload makes a new ${missing === "localStorage" ? "token" : "session"}`,
    "allow this site to keep data, or pass authToken and sessionId to new McpWeb()",
  );
}

type StorageName = "localStorage" | "sessionStorage";

function works(name: StorageName): boolean {
  try {
    const key = "mcp-web:diagnosis";
    globalThis[name].setItem(key, "1");
    globalThis[name].removeItem(key);
    return true;
  } catch {
    return false;
  }
}
