/** Finds the browser restriction behind a failure, and reports it instead of the connection's own error. */

import type { McpWebError, McpWebErrorConstructor } from "../mcp-web/error.ts";
import type { Status } from "../types/status.ts";
import type { BrowserRestriction } from "./browser-restrictions.ts";
import { explain, pendingPermission } from "./explain.ts";

/** The parts of the page that the watchdog uses. */
export interface WatchdogPage {
  readonly bridgeUrl: string;
  McpWebError: McpWebErrorConstructor;
  /** Shows the status to the app. */
  show(status: Status): void;
  /** Stops the attempts to connect. */
  stop(): void;
  /** Restarts the attempts. */
  retry(): void;
}

/** A status with all fields that a state may have. */
type AnyStatus = { state: Status["state"]; error?: McpWebError; retryInMs?: number };

export class ConnectionWatchdog {
  readonly #page: WatchdogPage;
  readonly #unclear: readonly unknown[];
  readonly #slowMs: number;
  /** The latest status reported by the connection. */
  #latest: AnyStatus | undefined;
  #slowTimer: ReturnType<typeof setTimeout> | undefined;
  /**
   * Replaced when a connection is requested, made or ended: an explanation that arrives later belongs to an earlier
   * attempt.
   */
  #attempts = {};
  /** Whether the reason was searched during these attempts. */
  #isExplained = false;
  /** The error to show instead of the connection's own. */
  #restrictionError: McpWebError | undefined;
  /** Whether the connection was ended because of that error. */
  #isFinal = false;

  /** `unclear`: the codes of failures that a restriction may have caused. */
  constructor(page: WatchdogPage, unclear: readonly unknown[], slowMs: number) {
    this.#page = page;
    this.#unclear = unclear;
    this.#slowMs = slowMs;
  }

  /** Resets the state when the app connects or disconnects, because the obstacle may be gone. */
  reset(): void {
    this.#attempts = {};
    this.#isExplained = this.#isFinal = false;
    this.#restrictionError = undefined;
  }

  /** Starts with a status that was already shown, unless it is a failure with an unclear reason. */
  start(status: AnyStatus): void {
    this.#latest = status;
    if (this.#isUnclear(status)) this.#explain(status);
    else if (isInProgress(status)) this.#explainSlowness(status);
  }

  onStatus(status: AnyStatus): void {
    clearTimeout(this.#slowTimer);
    this.#latest = status;
    const { state } = status;
    if (state === "disconnected" && this.#isFinal) return this.#page.show({ state: "failed", error: this.#restrictionError! });
    if (state === "connected" || state === "disconnected") this.reset();
    if (this.#isUnclear(status)) {
      if (!this.#isExplained) this.#explain(status);
      if (state === "failed") return;
    } else if (isInProgress(status)) {
      this.#slowTimer = setTimeout(() => this.#explainSlowness(status), this.#slowMs);
    }
    this.#show(status);
  }

  /** A running attempt still has the error of the previous one. Only an attempt that has ended counts. */
  #isUnclear({ state, error, retryInMs }: AnyStatus): boolean {
    return this.#unclear.includes(error?.code) && (state === "failed" || retryInMs !== undefined);
  }

  #show(status: AnyStatus): void {
    const shown = this.#restrictionError && status.error ? { ...status, error: this.#restrictionError } : status;
    this.#page.show(shown as Status);
  }

  async #explain({ state, error }: AnyStatus): Promise<void> {
    this.#isExplained = true;
    const attempts = this.#attempts;
    const explanation = await explain(this.#page.bridgeUrl, error!.code).catch(() => undefined);
    if (attempts !== this.#attempts) return;
    if (explanation) this.#restrictionError = this.#toError(explanation);
    const shown = this.#restrictionError ?? error!;
    if (state === "failed") return this.#page.show({ state, error: shown });
    if (explanation?.isFinal) {
      this.#isFinal = true;
      this.#page.stop();
      explanation.onChange?.(() => attempts === this.#attempts && this.#page.retry());
    } else {
      console.warn(`mcp-web: ${shown.message}`);
      if (explanation) this.#show(this.#latest!);
    }
  }

  async #explainSlowness(status: AnyStatus): Promise<void> {
    const restriction = await pendingPermission(this.#page.bridgeUrl);
    if (!restriction || status !== this.#latest) return;
    // The reason is searched again after the user's answer.
    this.#isExplained = false;
    this.#page.show({ ...status, error: this.#toError(restriction) } as Status);
  }

  #toError({ code, message, remedy }: BrowserRestriction): McpWebError {
    return Object.assign(new this.#page.McpWebError(code, message), { remedy });
  }
}

const isInProgress = ({ state, retryInMs }: AnyStatus) => /connecting/.test(state) && retryInMs === undefined;
