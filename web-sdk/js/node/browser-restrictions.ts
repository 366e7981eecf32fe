/**
 * Replaces `mcp-web/browser-restrictions.ts`: no browser restricts a process, so each status of the connection is passed to
 * the app. Only a certificate that is not accepted must be found out.
 */

import type { WatchdogPage } from "../diagnose/connection-watchdog.ts";
import type * as Browser from "../mcp-web/browser-restrictions.ts";
import type { McpWebError } from "../mcp-web/error.ts";
import type { Status } from "../types/status.ts";
import { certificateProblem } from "../node/certificate.ts";

export class RestrictionMonitor {
  readonly #page: WatchdogPage;
  #latest: Browser.CoreStatus = { state: "idle" };
  /** Replaced by each attempt, and when a connection is made: a finding that arrives later belongs to an earlier attempt. */
  #attempts = {};
  #hasWarned = false;
  /** The error to show instead of the connection's own, which only says that no bridge answers. */
  #certificateError: McpWebError | undefined;

  constructor(page: WatchdogPage) {
    this.#page = page;
  }

  reset(): void {
    this.#attempts = {};
    this.#hasWarned = false;
    this.#certificateError = undefined;
  }

  onStatus(status: Browser.CoreStatus): void {
    if (status.state === "connected") this.reset();
    this.#latest = status;
    if (status.error) {
      // A wait for the next attempt begins with a failure, which may have another reason than the one before.
      if (!this.#mayBeCertificate(status)) this.#warnOnce(status.error.message);
      else if (status.retryInMs !== undefined) void this.#findCertificateProblem(status.error);
    }
    this.#show();
  }

  /** Logs only the first of several failures, for apps that do not observe the status. */
  #warnOnce(message: string): void {
    if (!this.#hasWarned) console.warn(`mcp-web: ${message}`);
    this.#hasWarned = true;
  }

  #mayBeCertificate({ error }: Browser.CoreStatus): boolean {
    return error?.code === "BridgeUnreachable" && /^(https|wss):/.test(this.#page.bridgeUrl);
  }

  async #findCertificateProblem({ code, message }: McpWebError): Promise<void> {
    const attempts = (this.#attempts = {});
    const problem = await certificateProblem(this.#page.bridgeUrl);
    if (attempts !== this.#attempts) return;
    if (problem !== this.#certificateError?.message) {
      if (problem !== undefined) this.#hasWarned = false;
      this.#certificateError = problem === undefined ? undefined : new this.#page.McpWebError(code, problem);
      this.#show();
    }
    this.#warnOnce(problem ?? message);
  }

  #show(): void {
    const error = this.#mayBeCertificate(this.#latest) ? this.#certificateError : undefined;
    this.#page.show((error ? { ...this.#latest, error } : this.#latest) as Status);
  }
}
