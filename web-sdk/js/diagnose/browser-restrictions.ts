/** Restrictions by browsers: for each one a code, a description, and advice. */

import type { McpWebErrorCode } from "../types/error-codes.ts";
import type { BridgeFacts, PageEnvironment } from "./addresses.ts";

/** A restriction by the browser that prevents the connection to the bridge. */
export interface BrowserRestriction {
  code: McpWebErrorCode;
  what: string;
  remedy: string;
  message: string;
}

const restriction = (code: McpWebErrorCode, what: string, remedy: string): BrowserRestriction => ({ code, what, remedy, message: `${what}: ${remedy}` });

const targets = ({ loopback }: BridgeFacts) => (loopback ? "apps on this device" : "devices on the local network");

export const restrictions = {
  mixedContent: ({ url }: BridgeFacts) =>
    restriction(
      "MixedContentBlocked",
      `this page came over https, and the browser forbids it the unencrypted bridge at ${url}`,
      "give the bridge an https address (a reverse proxy with a certificate) and set bridgeUrl to it, or run it on the " +
        "user's machine at http://localhost, which browsers other than Safari allow",
    ),

  csp: ({ url, origin }: BridgeFacts, { directive }: { directive: string }) =>
    restriction(
      "CspBlocked",
      `the page's Content-Security-Policy (${directive}) blocks the connection to ${url}`,
      `add ${origin.replace(/^http/, "ws")} and ${origin} to its connect-src directive`,
    ),

  wasm: () =>
    restriction(
      "WasmBlocked",
      "the page's Content-Security-Policy blocks WebAssembly",
      "add 'wasm-unsafe-eval' to its script-src directive",
    ),

  localNetworkDenied: (bridge: BridgeFacts) =>
    restriction(
      "LocalNetworkDenied",
      `the browser does not let this page connect to ${bridge.url}, since access to ${targets(bridge)} was denied for it`,
      "allow it in the settings of this site (beside the address); the page then connects by itself",
    ),

  localNetworkPending: (bridge: BridgeFacts) =>
    restriction(
      "LocalNetworkPending",
      `the browser asks whether this page may connect to ${targets(bridge)}`,
      `choose "Allow" there, and the page reaches the bridge at ${bridge.url}`,
    ),

  localNetworkRefused: ({ url }: BridgeFacts, { origin }: PageEnvironment) =>
    restriction(
      "LocalNetworkRefused",
      `this page came over plain http (${origin}), and the browser lets only secure pages connect to ${url}`,
      "serve the page over https, or from http://localhost",
    ),

  framePolicy: ({ url }: BridgeFacts, name: string) =>
    restriction(
      "FrameBlocked",
      `this page runs in an iframe that may not connect to ${url}`,
      `the page around it must write allow="${name}" on the iframe`,
    ),

  frameSandbox: () =>
    restriction(
      "FrameBlocked",
      "this page runs in a sandboxed iframe and has no origin there, so that the bridge refuses it",
      "the page around it must add allow-same-origin to the iframe's sandbox attribute",
    ),

  noOrigin: (protocol: string | undefined) =>
    restriction(
      "OriginNotAllowed",
      `this page has no origin (${protocol}), and bridges refuse those`,
      "open it from a web server, for example at http://localhost",
    ),

  notABridge: ({ url }: BridgeFacts) =>
    restriction(
      "BridgeUnreachable",
      `something answers at ${url}, but the page's WebSocket does not get through`,
      "set bridgeUrl to the bridge itself, or have the proxy in front of it pass WebSockets (the header Upgrade) on at /ws",
    ),
};
