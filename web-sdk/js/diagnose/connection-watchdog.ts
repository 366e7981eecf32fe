/** Looks for the wall behind failures, and gives the app its name in place of the connection's own words. */

import { explain, pending } from "./explain.js";

export class Lookout {
  #page;
  #unclear;
  #slowMs;
  /** The latest status as the connection told it. */
  #latest;
  #slow;
  /** Changes when a connection is wanted, made or ended: what is found out late was of an earlier one. */
  #streak = {};
  /** Whether the reason was looked for in this streak. */
  #asked = false;
  /** The error to show in place of the connection's own. */
  #found;
  /** Whether the connection was ended because of it. */
  #final = false;

  /**
   * `page`: `show(status)` tells the app, `stop()` ends the attempts, `retry()` begins them again, `error(code, message)`
   * makes an error, `bridgeUrl`. `unclear`: the codes behind which there may be a wall.
   */
  constructor(page, unclear, slowMs) {
    this.#page = page;
    this.#unclear = unclear;
    this.#slowMs = slowMs;
  }

  /** The app wants something new: what stood in the way may be gone. */
  forget() {
    this.#streak = {};
    this.#asked = this.#final = false;
    this.#found = undefined;
  }

  /** With a status that was shown, unless it is a failure of unclear reason. */
  begin(status) {
    this.#latest = status;
    if (this.#isUnclear(status)) this.#explain(status);
    else if (isUnderWay(status)) this.#explainSlowness(status);
  }

  heard(status) {
    clearTimeout(this.#slow);
    this.#latest = status;
    const { state } = status;
    if (state === "disconnected" && this.#final) return this.#page.show({ state: "failed", error: this.#found });
    if (state === "connected" || state === "disconnected") this.forget();
    if (this.#isUnclear(status)) {
      if (!this.#asked) this.#explain(status);
      if (state === "failed") return;
    } else if (isUnderWay(status)) {
      this.#slow = setTimeout(() => this.#explainSlowness(status), this.#slowMs);
    }
    this.#show(status);
  }

  /** Of an attempt that has ended; one that is under way still has the error of the former. */
  #isUnclear({ state, error, retryInMs }) {
    return this.#unclear.includes(error?.code) && (state === "failed" || retryInMs !== undefined);
  }

  #show(status) {
    this.#page.show(this.#found && status.error ? { ...status, error: this.#found } : status);
  }

  async #explain({ state, error }) {
    this.#asked = true;
    const streak = this.#streak;
    const wall = await explain(this.#page.bridgeUrl, error.code).catch(() => undefined);
    if (streak !== this.#streak) return;
    if (wall) this.#found = this.#failure(wall);
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
    const wall = await pending(this.#page.bridgeUrl);
    if (!wall || status !== this.#latest) return;
    // The user's answer is worth another look.
    this.#asked = false;
    this.#page.show({ ...status, error: this.#failure(wall) });
  }

  #failure({ code, message, remedy }) {
    return Object.assign(this.#page.error(code, message), { remedy });
  }
}

const isUnderWay = ({ state, retryInMs }) => /connecting/.test(state) && retryInMs === undefined;
