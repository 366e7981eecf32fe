/** A socket whose messages wait in both directions. */

const CONNECTING = 0;

/** Matches the type of a message, which is its first field. */
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
      // The document ends, and hands over its calls.
      if (typeOf(frame) === "leaving") this.#send.call(socket, frame);
      else this.#sent.push(frame as string);
    };
  }

  /**
   * Changes the token of the connection. Rejected if the bridge rejects it; never settled if it belongs to another user,
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
        // Earlier messages are no longer awaited.
        if (type === "session-closed") return this.#receive!.call(socket, event);
        this.#received.push(event);
        if (type === "renewal-failed") reject();
        if (type === "renewed" && (answers += 1) === 2) resolve();
      };
      // Sent twice, because the first answer may refer to an earlier renewal.
      const renewal = JSON.stringify({ type: "renew", authToken });
      this.#send.call(socket, renewal);
      this.#send.call(socket, renewal);
    });
  }

  /** Sends and receives the waiting messages, and all others immediately from then on. */
  release(): void {
    const socket = this.#socket;
    if (this.#isGivenUp) return;
    socket.onmessage = this.#receive;
    Reflect.deleteProperty(socket, "send");
    for (const frame of this.#sent) socket.send(frame);
    for (const event of this.#received) socket.onmessage?.(event);
  }

  /** Whether the wasm has abandoned the socket by removing its listeners. */
  get #isGivenUp(): boolean {
    return !this.#socket.onmessage;
  }
}
