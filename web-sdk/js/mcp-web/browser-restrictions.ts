/** A filter between the connection and the status that the app sees: a failure may have a cause that the browser hides. */

import type { Status } from "../types/status.ts";
import type { WatchdogPage } from "../diagnose/connection-watchdog.ts";
import type { McpWebError } from "./error.ts";
import { importDiagnosis } from "./lazy.ts";

/** Failures that a restriction of the browser may have caused. */
const UNCLEAR: unknown[] = ["BridgeUnreachable", "BridgeUrlRefused", "OriginNotAllowed"];

/** A socket that has not opened after this time may be waiting for the browser's user. */
const SLOW_MS = 2_000;

/** A status of the wasm. Its fields besides the state are optional. */
export type CoreStatus = { state: Status["state"]; error?: McpWebError; retryInMs?: number };

/** The part of `ConnectionWatchdog` that is used here. */
interface Watchdog {
  onStatus(status: CoreStatus): void;
  reset(): void;
}

/** Until the first failure, only this module is loaded. From then on, `mcp-web-diagnose.js` judges each status. */
export class RestrictionMonitor {
  readonly #page: WatchdogPage;
  #latest: CoreStatus = { state: "idle" };
  #slowTimer: ReturnType<typeof setTimeout> | undefined;
  #loading: Promise<void> | undefined;
  /**
   * If a page was connected before, no restriction prevents its connection: the bridge is unavailable, and no reason is
   * searched.
   */
  #wasConnected = false;
  #watchdog: Watchdog | undefined;

  constructor(page: WatchdogPage) {
    this.#page = page;
  }

  /** Resets the state when the app connects or disconnects, because the obstacle may be gone. */
  reset(): void {
    this.#wasConnected = false;
    this.#watchdog?.reset();
  }

  onStatus(status: CoreStatus): void {
    clearTimeout(this.#slowTimer);
    const former = this.#latest;
    this.#latest = status;
    const { state, error, retryInMs } = status;
    if (state === "connected") this.#wasConnected = true;
    if (this.#wasConnected && error?.code === "BridgeUnreachable") return this.#page.show(status as Status);
    if (this.#watchdog) return this.#watchdog.onStatus(status);
    const isUnclear = UNCLEAR.includes(error?.code);
    if (!isUnclear && error && state === "reconnecting" && former.state === "connecting") {
      console.warn(`mcp-web: ${error.message}`);
    }
    if (isUnclear) this.#watch();
    else if (retryInMs === undefined && /connecting/.test(state)) this.#slowTimer = setTimeout(() => this.#watch(), SLOW_MS);
    if (!isUnclear || state !== "failed") this.#page.show(status as Status);
  }

  #watch(): void {
    this.#loading ??= importDiagnosis().then(
      ({ ConnectionWatchdog }) => {
        const watchdog = new ConnectionWatchdog(this.#page, UNCLEAR, SLOW_MS);
        this.#watchdog = watchdog;
        watchdog.start(this.#latest);
      },
      () => {
        // Without the module, the app sees the connection's own errors.
        this.#watchdog = { onStatus: (status) => this.#page.show(status as Status), reset() {} };
        if (this.#latest.state === "failed") this.#page.show(this.#latest as Status);
      },
    );
  }
}
