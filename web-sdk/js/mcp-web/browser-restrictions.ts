/** Between the connection and the status that the app sees: a failure may have a reason that the browser hides. */

/** Failures behind which there may be a wall. */
const UNCLEAR = ["BridgeUnreachable", "BridgeUrlRefused", "OriginNotAllowed"];

/** A socket that has not opened by then may wait for the browser's user. */
const SLOW_MS = 2_000;

/** As long as all is well, nothing but this is loaded; from the first failure on, `mcp-web-diagnose.js` looks on. */
export class Walls {
  #load;
  #page;
  #latest = {};
  #slow;
  #loading;
  /** A page that was connected knows of no wall: its bridge is away, and needs no questions when it comes back. */
  #connected = false;
  /** Its `Lookout`, once it is loaded. */
  #lookout;

  /** `page`: `show(status)` tells the app, `stop()` ends the attempts, `retry()` begins them again. */
  constructor(importDiagnosis, page) {
    this.#load = importDiagnosis;
    this.#page = page;
  }

  /** The app wants something new: what stood in the way may be gone. */
  forget() {
    this.#connected = false;
    this.#lookout?.forget();
  }

  heard(status) {
    clearTimeout(this.#slow);
    const former = this.#latest;
    this.#latest = status;
    const { state, error, retryInMs } = status;
    if (state === "connected") this.#connected = true;
    if (this.#connected && error?.code === "BridgeUnreachable") return this.#page.show(status);
    if (this.#lookout) return this.#lookout.heard(status);
    const unclear = UNCLEAR.includes(error?.code);
    if (!unclear && state === "reconnecting" && former.state === "connecting") console.warn(`mcp-web: ${error.message}`);
    if (unclear) this.#look();
    else if (retryInMs === undefined && /connecting/.test(state)) this.#slow = setTimeout(() => this.#look(), SLOW_MS);
    if (!unclear || state !== "failed") this.#page.show(status);
  }

  #look() {
    this.#loading ??= this.#load().then(
      ({ Lookout }) => {
        this.#lookout = new Lookout(this.#page, UNCLEAR, SLOW_MS);
        this.#lookout.begin(this.#latest);
      },
      () => {
        // The connection's own words have to do.
        this.#lookout = { heard: this.#page.show, forget() {} };
        if (this.#latest.state === "failed") this.#page.show(this.#latest);
      },
    );
  }
}
