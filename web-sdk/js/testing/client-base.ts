/** The common part of the clients in memory and over HTTP. */

import { callListener } from "./environment.ts";
import type { Unsubscribe } from "../types/options.ts";
import type { CallToolResult, TestClientOptions } from "./types.ts";

/** The key of the method that `await using` calls. Compilers use the same key if `Symbol.asyncDispose` does not exist. */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** A list of the server that may change. */
export type ListName = "tools" | "prompts" | "resources";

/** The result of a tool in MCP's format. */
type WireResult<Structured> = Omit<CallToolResult<Structured>, "isError"> & { isError?: boolean };

/** A listener of a resource. The same function may be added several times. */
interface ResourceListener {
  listener: () => void;
}

/** The listeners of a resource, and its subscription at the server. */
interface ResourceSubscription {
  listeners: Set<ResourceListener>;
  isSubscribed: boolean;
  /** Settled when the server has answered the latest change. */
  last: Promise<unknown>;
}

/** The listeners of a client, and its end. */
export abstract class ClientBase implements AsyncDisposable {
  readonly #listListeners = new Set<{ listener: (list: ListName) => void }>();
  readonly #resources = new Map<string, ResourceSubscription>();

  /** Subscribes to a resource at the server. */
  protected abstract subscribeAtServer(uri: string): Promise<unknown>;
  /** Ends a subscription at the server. */
  protected abstract unsubscribeAtServer(uri: string): Promise<unknown>;
  abstract close(): Promise<void>;

  async subscribe(uri: string, listener: () => void): Promise<Unsubscribe> {
    const resource = this.#resources.get(uri) ?? { listeners: new Set(), isSubscribed: false, last: Promise.resolve() };
    this.#resources.set(uri, resource);
    const entry = { listener };
    resource.listeners.add(entry);
    try {
      await this.#synchronize(uri, resource);
    } catch (error) {
      resource.listeners.delete(entry);
      throw error;
    }
    return () => {
      // After the client is closed, there is no subscription to end.
      if (resource.listeners.delete(entry)) this.#synchronize(uri, resource).catch(() => {});
    };
  }

  onListChanged(listener: (list: ListName) => void): Unsubscribe {
    const entry = { listener };
    this.#listListeners.add(entry);
    return () => void this.#listListeners.delete(entry);
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  protected notifyListChanged(list: ListName): void {
    for (const { listener } of [...this.#listListeners]) callListener(listener, list);
  }

  protected notifyResourceUpdated(uri: string): void {
    for (const { listener } of [...(this.#resources.get(uri)?.listeners ?? [])]) callListener(listener);
  }

  /** Subscribes or unsubscribes at the server as the listeners require, one change at a time. */
  #synchronize(uri: string, resource: ResourceSubscription): Promise<void> {
    const synchronized = resource.last.then(async () => {
      const isNeeded = resource.listeners.size > 0;
      if (isNeeded === resource.isSubscribed) return;
      await (isNeeded ? this.subscribeAtServer(uri) : this.unsubscribeAtServer(uri));
      resource.isSubscribed = isNeeded;
    });
    resource.last = synchronized.catch(() => {});
    return synchronized;
  }
}

/** Returns the MCP `ClientCapabilities` of a client, from its answer functions. */
export const capabilitiesOf = ({ elicit, sample, roots }: TestClientOptions): object => ({
  ...(elicit && { elicitation: { form: {}, url: {} } }),
  ...(sample && { sampling: {} }),
  ...(roots && { roots: {} }),
});

/** Returns a result with an explicit `isError`, which MCP leaves out if it is false. */
export const withIsError = <Structured>(result: WireResult<Structured>): CallToolResult<Structured> => ({
  ...result,
  isError: result.isError ?? false,
});

/** Returns the parameters of `completion/complete`. */
export function completionParams(
  reference: { prompt: string } | { uriTemplate: string },
  argument: { name: string; value: string },
  args: object = {},
): object {
  const ref =
    "prompt" in reference
      ? { type: "ref/prompt", name: reference.prompt }
      : { type: "ref/resource", uri: reference.uriTemplate };
  return { ref, argument, context: { arguments: args } };
}
