/** What stands between the page and its bridge, where the browser does not say so by itself. */

import { McpWebError } from "./error.js";

/** Failures behind which there may be a wall. */
const UNCLEAR = ["BridgeUnreachable", "BridgeUrlRefused", "OriginNotAllowed"];

/** A socket that has not opened by then may wait for the browser's user. */
const SLOW_MS = 2_000;

/** Stands between the connection and the status that the app sees. */
export class Walls {
  #importDiagnosis;
  #bridgeUrl;
  #page;
  /** The latest status as the connection told it. */
  #latest = {};
  #slow;
  /** Changes when a connection is wanted, made or ended: what is found out late was of an earlier one. */
  #streak = {};
  /** Whether the reason was looked for in this streak. */
  #asked = false;
  /** The error to show in place of the connection's own. */
  #found;
  /** Whether the connection was ended because of it. */
  #final = false;

  /** `page`: `show(status)` tells the app, `stop()` ends the attempts, `retry()` begins them again. */
  constructor(bridgeUrl, importDiagnosis, page) {
    this.#bridgeUrl = bridgeUrl;
    this.#importDiagnosis = importDiagnosis;
    this.#page = page;
  }

  /** The app wants something new: what stood in the way may be gone. */
  forget() {
    this.#streak = {};
    this.#asked = this.#final = false;
    this.#found = undefined;
  }

  heard(status) {
    clearTimeout(this.#slow);
    const former = this.#latest.state;
    this.#latest = status;
    const { state, error, retryInMs } = status;
    if (state === "disconnected" && this.#final) return this.#page.show({ state: "failed", error: this.#found });
    if (state === "connected" || state === "disconnected") this.forget();
    const ended = state === "failed" || retryInMs !== undefined;
    if (ended && UNCLEAR.includes(error.code)) {
      if (!this.#asked) this.#explain(status);
      if (state === "failed") return;
    } else if (state === "reconnecting" && former === "connecting") {
      console.warn(`mcp-web: ${error.message}`);
    }
    if (/connecting/.test(state) && !ended) this.#slow = setTimeout(() => this.#explainSlowness(status), SLOW_MS);
    this.#show(status);
  }

  #show(status) {
    this.#page.show(this.#found && status.error ? { ...status, error: this.#found } : status);
  }

  async #explain({ state, error }) {
    this.#asked = true;
    const streak = this.#streak;
    const wall = await this.#ask("explain", error.code);
    if (streak !== this.#streak) return;
    if (wall) this.#found = failure(wall);
    if (state === "failed") return this.#page.show({ state, error: this.#found ?? error });
    if (wall?.final) {
      this.#final = true;
      this.#page.stop();
      wall.changed?.(() => streak === this.#streak && this.#page.retry());
    } else {
      console.warn(`mcp-web: ${(this.#found ?? error).message}`);
      if (wall) this.#show(this.#latest);
    }
  }

  async #explainSlowness(status) {
    const wall = await this.#ask("pending");
    if (!wall || status !== this.#latest) return;
    // The user's answer is worth another look.
    this.#asked = false;
    this.#page.show({ ...status, error: failure(wall) });
  }

  /** Without the module, the connection's own words have to do. */
  async #ask(what, code) {
    try {
      return await (await this.#importDiagnosis())[what](this.#bridgeUrl, code);
    } catch {
      return undefined;
    }
  }
}

const failure = ({ code, message, remedy }) => Object.assign(new McpWebError(code, message), { remedy });
