/** The unanswered requests of one handler to the client of its call. */

import type { McpWebErrorCode } from "../types/error-codes.ts";
import type { McpWebError, McpWebErrorConstructor } from "../mcp-web/error.ts";

/** Maximum number of unanswered requests of one call at a time. */
const MAX_OPEN = 16;

/** An answer of the client: the result of the request, or a JSON-RPC error. */
export interface ClientResponse {
  result?: unknown;
  error?: { code: McpWebErrorCode; message: string; data?: unknown };
}

/** The functions that settle the promise of a request. */
interface OpenRequest {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

export class OpenRequests {
  readonly #send: (key: string, method: string, params: string) => void;
  /** The unanswered requests, by their keys. */
  readonly #open = new Map<string, OpenRequest>();
  /** All keys of this call: the client's answers are matched by them. */
  readonly #usedKeys = new Set<string>();
  readonly #counts: { [kind: string]: number } = {};
  /** Why requests can no longer be sent, once the call has ended. */
  #endReason: unknown;
  readonly #McpWebError: McpWebErrorConstructor;

  constructor(send: (key: string, method: string, params: string) => void, McpWebError: McpWebErrorConstructor) {
    this.#send = send;
    this.#McpWebError = McpWebError;
  }

  /**
   * The key begins with `kind` unless the app provides one. If the same handler runs again, it sends the same request with
   * the same key.
   */
  request(kind: string, key: string | undefined, method: string, params: object): Promise<unknown> {
    const number = (this.#counts[kind] = (this.#counts[kind] ?? 0) + 1);
    const requestKey = key ?? `${kind}-${number}`;
    if (typeof requestKey !== "string" || !requestKey) throw new TypeError("key must be a non-empty string");
    if (this.#endReason) throw this.#endReason;
    if (this.#usedKeys.has(requestKey)) {
      throw new TypeError(`the call has asked under the key "${requestKey}" already: keys are unique`);
    }
    if (this.#open.size >= MAX_OPEN) {
      throw new this.#McpWebError("ClientRequestFailed", `${MAX_OPEN} requests of this call wait for the client: await some of them`);
    }
    const json = JSON.stringify(params);
    this.#usedKeys.add(requestKey);
    return new Promise((resolve, reject) => {
      this.#open.set(requestKey, { resolve, reject });
      this.#send(requestKey, method, json);
    });
  }

  onAnswer(key: string, { result, error }: ClientResponse): void {
    if (error) return this.onFailure(key, this.#toError(error));
    this.#take(key)?.resolve(result ?? {});
  }

  onFailure(key: string, error: unknown): void {
    this.#take(key)?.reject(error);
  }

  end(reason: unknown): void {
    this.#endReason = reason ?? new this.#McpWebError("ClientRequestFailed", "the call has ended: there is no client to ask");
    for (const key of [...this.#open.keys()]) this.onFailure(key, this.#endReason);
  }

  #toError({ code, message, data }: NonNullable<ClientResponse["error"]>): McpWebError {
    const error = new this.#McpWebError(code, message);
    if (data !== undefined && data !== null) error.data = data;
    return error;
  }

  #take(key: string): OpenRequest | undefined {
    const open = this.#open.get(key);
    this.#open.delete(key);
    return open;
  }
}
