/**
 * Messages between the host and a session process: lines of JSON over a socket. Node's own channel between processes has no
 * limits, and assigns a meaning to some messages.
 */

import type { Duplex } from "node:stream";

import { countValuesInText } from "../engine/json-values.ts";
import { TokenBucket } from "./token-bucket.ts";

/** Cost of each message in addition to its length, in bytes: many small ones keep the receiver as busy as a large one. */
const MESSAGE_COST_BYTES = 16 * 1024;
/** Cost of each value of a message, in bytes, and the minimum number of bytes of a message for each of its values. */
const VALUE_COST_BYTES = 64;
const MIN_VALUE_BYTES = 16;
/** Maximum share of the receiver's time that one sender may use. */
const TIME_SHARE = 1 / 4;
/** Number of bytes that may arrive without a delay. Only a sender of more has to wait. */
const ALLOWED_BYTES = { burst: 32 * 1024 * 1024, perSecond: 16 * 1024 * 1024 };
/** Maximum number of bytes that wait for a receiver which does not read. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
const NEWLINE = 10;

/** File descriptor of the channel in a session process: the first one after the standard streams. */
export const CHANNEL_FD = 3;

/** The reason of a closed channel without a fault of the other side. */
export const CHANNEL_CLOSED = "it has closed the channel";

/** Receiver of the messages of a channel. */
export interface ChannelReceiver {
  /** Called for each message. An exception closes the channel. */
  message(message: unknown): void;
  /** Called once, when the other side has closed the channel or sent something other than a message. */
  closed(reason: string): void;
}

/** One end of a channel. */
export class Channel {
  readonly #socket: Duplex;
  readonly #maxBytes: number;
  readonly #isTrusted: boolean;
  readonly #receiver: ChannelReceiver;
  /** The beginning of an incomplete line. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  readonly #bucket = new TokenBucket(ALLOWED_BYTES);
  /** How long the receiver pauses before the next message. */
  #pauseMs = 0;
  #resume: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `isTrusted` says that the other side may send without limits. */
  constructor(socket: Duplex, receiver: ChannelReceiver, { maxBytes, isTrusted = false }: { maxBytes: number; isTrusted?: boolean }) {
    this.#socket = socket;
    this.#receiver = receiver;
    this.#maxBytes = maxBytes;
    this.#isTrusted = isTrusted;
    socket.on("data", (chunk: Buffer) => this.#received(chunk));
    for (const event of ["error", "close", "end"]) socket.on(event, () => this.close(CHANNEL_CLOSED));
  }

  send(message: object): void {
    if (this.#isClosed) return;
    const text = `${JSON.stringify(message)}\n`;
    this.#socket.write(text);
    if (this.#isTrusted) return;
    this.#spend(text.length);
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.close("it does not read what it is sent");
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#resume);
    this.#socket.destroy();
    this.#receiver.closed(reason);
  }

  #received(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end >= 0 && !this.#isClosed; end = rest.indexOf(NEWLINE)) {
      this.#append(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      this.#messageEnded();
      if (this.#pauseMs === 0 || this.#isClosed) continue;
      // The rest of the chunk waits in the socket.
      this.#socket.pause();
      if (rest.length) this.#socket.unshift(rest);
      this.#resume = setTimeout(() => this.#socket.resume(), this.#pauseMs);
      return;
    }
    if (!this.#isClosed) this.#append(rest);
  }

  #append(part: Buffer): void {
    this.#parts.push(part);
    this.#partBytes += part.length;
    if (this.#partBytes > this.#maxBytes) this.close(`it has sent a message of more than ${this.#maxBytes} bytes`);
  }

  #messageEnded(): void {
    if (this.#isClosed) return;
    const text = Buffer.concat(this.#parts, this.#partBytes);
    this.#parts = [];
    this.#partBytes = 0;
    const begun = performance.now();
    try {
      if (!this.#isTrusted) this.#charge(text);
      this.#receiver.message(JSON.parse(text.toString("utf8")));
    } catch (error) {
      this.close(error instanceof SyntaxError ? "it has sent something that is not JSON" : (error as Error).message);
    }
    if (!this.#isTrusted) this.#spend(((performance.now() - begun) / 1000 / TIME_SHARE) * ALLOWED_BYTES.perSecond);
  }

  /** @throws if a message has too many values. */
  #charge(text: Buffer): void {
    const values = countValuesInText(text);
    this.#spend(MESSAGE_COST_BYTES + text.length + values * VALUE_COST_BYTES);
    const most = Math.floor(this.#maxBytes / MIN_VALUE_BYTES);
    if (values > most) throw new Error(`it has sent a message of more than ${most} values`);
  }

  #spend(bytes: number): void {
    this.#pauseMs = this.#bucket.spend(bytes);
  }
}
