/** Between the connection and the status that the app sees: a failure may have a reason that the browser hides. */

import type { Status } from "../types/status.ts";
import type { WatchdogPage } from "../diagnose/connection-watchdog.ts";
import type { McpWebError } from "./error.ts";
import { importDiagnosis } from "./lazy.ts";

/** Failures that a restriction of the browser may have caused. */
const UNCLEAR: unknown[] = ["BridgeUnreachable", "BridgeUrlRefused", "OriginNotAllowed"];

/** A socket that has not opened by then may wait for the browser's user. */
const SLOW_MS = 2_000;

/** A status of the wasm. What a state has besides its name is there or not. */
export type CoreStatus = { state: Status["state"]; error?: McpWebError; retryInMs?: number };

/** The `ConnectionWatchdog`, as far as it is used here. */
interface Watchdog {
  onStatus(status: CoreStatus): void;
  reset(): void;
}

/** While there is no failure, only this is loaded; from the first failure on, `mcp-web-diagnose.js` judges each status. */
export class RestrictionMonitor {
  readonly #page: WatchdogPage;
  #latest: CoreStatus = { state: "idle" };
  #slowTimer: ReturnType<typeof setTimeout> | undefined;
  #loading: Promise<void> | undefined;
  /** No restriction keeps a page from its bridge that was connected: the bridge is away, and nobody asks why. */
  #wasConnected = false;
  #watchdog: Watchdog | undefined;

  constructor(page: WatchdogPage) {
    this.#page = page;
  }

  /** The app connects or disconnects: what stood in the way may be gone. */
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
