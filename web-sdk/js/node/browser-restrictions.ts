/**
 * Replaces `mcp-web/browser-restrictions.ts`: no browser restricts a process, so each status of the connection is passed to
 * the app.
 */

import type { WatchdogPage } from "../diagnose/connection-watchdog.ts";
import type * as Browser from "../mcp-web/browser-restrictions.ts";
import type { Status } from "../types/status.ts";

export class RestrictionMonitor {
  readonly #page: WatchdogPage;
  #hasWarned = false;

  constructor(page: WatchdogPage) {
    this.#page = page;
  }

  reset(): void {
    this.#hasWarned = false;
  }

  onStatus(status: Browser.CoreStatus): void {
    if (status.state === "connected") this.#hasWarned = false;
    // Only the first of several failures is logged, for apps that do not observe the status.
    if (status.error && !this.#hasWarned) {
      this.#hasWarned = true;
      console.warn(`mcp-web: ${status.error.message}`);
    }
    this.#page.show(status as Status);
  }
}
