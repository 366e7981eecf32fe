/** What the clients in memory and over HTTP have in common. */

import type { Unsubscribe } from "../types/options.ts";
import type { CallToolResult, TestClientOptions } from "./types.ts";

/** A list of the server that may change. */
export type ListName = "tools" | "prompts" | "resources";

/** The result of a tool as MCP has it. */
type WireResult<Structured> = Omit<CallToolResult<Structured>, "isError"> & { isError?: boolean };

/** The listeners of a client, and its end. */
export abstract class ClientBase implements AsyncDisposable {
  readonly #listListeners = new Set<(list: ListName) => void>();
  readonly #resourceListeners = new Map<string, Set<() => void>>();

  /** Subscribes to a resource at the server. */
  protected abstract subscribeAtServer(uri: string): Promise<unknown>;
  /** Ends a subscription at the server. */
  protected abstract unsubscribeAtServer(uri: string): Promise<unknown>;
  abstract close(): Promise<void>;

  async subscribe(uri: string, listener: () => void): Promise<Unsubscribe> {
    const listeners = this.#resourceListeners.get(uri) ?? new Set();
    this.#resourceListeners.set(uri, listeners);
    listeners.add(listener);
    if (listeners.size === 1) await this.subscribeAtServer(uri);
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) void this.unsubscribeAtServer(uri);
    };
  }

  onListChanged(listener: (list: ListName) => void): Unsubscribe {
    this.#listListeners.add(listener);
    return () => void this.#listListeners.delete(listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected notifyListChanged(list: ListName): void {
    for (const listener of [...this.#listListeners]) listener(list);
  }

  protected notifyResourceUpdated(uri: string): void {
    for (const listener of [...(this.#resourceListeners.get(uri) ?? [])]) listener();
  }
}

/** Returns the MCP `ClientCapabilities` of a client: what it has answers for. */
export const capabilitiesOf = ({ elicit, sample, roots }: TestClientOptions): object => ({
  ...(elicit && { elicitation: { form: {}, url: {} } }),
  ...(sample && { sampling: {} }),
  ...(roots && { roots: {} }),
});

/** Returns a result that says whether it is an error, which MCP leaves out if it is none. */
export const withIsError = <Structured>(result: WireResult<Structured>): CallToolResult<Structured> => ({
  ...result,
  isError: result.isError ?? false,
});

/** Returns the parameters of `completion/complete`. */
export function completionParams(
  reference: { prompt: string } | { uriTemplate: string },
  argument: { name: string; value: string },
  args: Record<string, string> = {},
): object {
  const ref =
    "prompt" in reference
      ? { type: "ref/prompt", name: reference.prompt }
      : { type: "ref/resource", uri: reference.uriTemplate };
  return { ref, argument, context: { arguments: args } };
}
