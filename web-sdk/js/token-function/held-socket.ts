/** A socket whose messages wait in both directions. */

const CONNECTING = 0;

/** Matches the type of a message, which comes first. */
const TYPE = /^{"type":"([^"]+)"/;

const typeOf = (frame: unknown) => (typeof frame === "string" ? TYPE.exec(frame)?.[1] : undefined);

export class HeldSocket {
  readonly #socket: WebSocket;
  /** The listener and the method of the socket. */
  readonly #receive: WebSocket["onmessage"];
  readonly #send: WebSocket["send"];
  readonly #received: MessageEvent[] = [];
  readonly #sent: string[] = [];

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#receive = socket.onmessage;
    this.#send = socket.send;
    socket.onmessage = (event) => this.#received.push(event);
    socket.send = (frame) => {
      // The document ends, and hands its calls over.
      if (typeOf(frame) === "leaving") this.#send.call(socket, frame);
      else this.#sent.push(frame as string);
    };
  }

  /**
   * Makes a token that of the connection. Rejected when the bridge refuses it; never settled when it is that of another user,
   * because the bridge then ends the session.
   */
  async changeToken(authToken: string): Promise<void> {
    const socket = this.#socket;
    if (socket.readyState === CONNECTING) {
      await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
    }
    const [first] = this.#sent;
    if (typeOf(first) !== "authenticate") return this.#renew(authToken);
    this.#sent[0] = JSON.stringify({ ...JSON.parse(first!), authToken });
  }

  #renew(authToken: string): Promise<void> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      if (this.#isGivenUp) return reject();
      let answers = 0;
      socket.onmessage = (event) => {
        const type = typeOf(event.data);
        // What has arrived before is no longer awaited.
        if (type === "session-closed") return this.#receive!.call(socket, event);
        this.#received.push(event);
        if (type === "renewal-failed") reject();
        if (type === "renewed" && (answers += 1) === 2) resolve();
      };
      // Twice, because the first answer may be about a token that was on its way.
      const renewal = JSON.stringify({ type: "renew", authToken });
      this.#send.call(socket, renewal);
      this.#send.call(socket, renewal);
    });
  }

  /** Sends and receives what has waited, and everything else at once. */
  release(): void {
    const socket = this.#socket;
    if (this.#isGivenUp) return;
    socket.onmessage = this.#receive;
    Reflect.deleteProperty(socket, "send");
    for (const frame of this.#sent) socket.send(frame);
    for (const event of this.#received) socket.onmessage?.(event);
  }

  /** Whether the wasm has abandoned the socket: it has removed its listeners. */
  get #isGivenUp(): boolean {
    return !this.#socket.onmessage;
  }
}
