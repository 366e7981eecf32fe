/// <reference lib="esnext.disposable" preserve="true" />

/** The app's handles to added items. */

import type {
  AppDefinition,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "./definitions.ts";

/** Options of {@link McpWeb.addTool} and similar methods. */
export interface AddOptions {
  /** Removes the item when it is aborted. */
  signal?: AbortSignal;
}

/** An added item. With `using`, it is removed at the end of the block. */
export interface Handle<Definition> extends Disposable {
  /** The name that clients see, once the bridge has accepted it. */
  readonly publishedName: string | undefined;
  /**
   * Fulfilled once clients can use it in its latest version; pending while not connected. Rejected with a
   * {@link McpWebError} if the bridge rejects it (with the bridge's code), if the wasm cannot be loaded, or if it is
   * removed or replaced first (`Removed`). It need not be observed: an unobserved rejection is written to the console.
   */
  readonly registered: Promise<void>;
  /**
   * Changes some fields at its position; `undefined` removes a field. Running calls continue with the former definition.
   *
   * @returns The new {@link Handle.registered}.
   * @throws TypeError if the result is not a valid definition, or the name, `uri` or `uriTemplate` would change.
   */
  update(changes: Changes<Definition>): Promise<void>;
  /**
   * Removes it; running calls continue. Has no effect on another item with the same name that replaced this one.
   *
   * @returns A promise that is fulfilled once no client can use it. It is never rejected.
   */
  remove(): Promise<void>;
}

/** Fields of a definition to change or remove. */
export type Changes<Definition> = { [Field in keyof Definition]?: Definition[Field] | undefined };

/** An added tool. */
export interface ToolHandle<InputSchema = any, OutputSchema = any>
  extends Handle<ToolDefinition<InputSchema, OutputSchema>> {
  /** The name, as given. */
  readonly name: string;
}

/** An added prompt. */
export interface PromptHandle<Argument extends string = any> extends Handle<PromptDefinition<Argument>> {
  /** The name, as given. */
  readonly name: string;
}

/** An added resource. */
export interface ResourceHandle extends Handle<ResourceDefinition> {
  /** The URI, as given. */
  readonly uri: string;
  /** Whether a client is subscribed to it. */
  readonly subscribed: boolean;
  /** Notifies subscribed clients that its content has changed. */
  notifyUpdated(): void;
}

/** An added resource template. */
export interface ResourceTemplateHandle<Template extends string = any>
  extends Handle<ResourceTemplateDefinition<Template>> {
  /** The template, as given. */
  readonly uriTemplate: string;
  /** Notifies subscribed clients that the content of one of its resources has changed. */
  notifyUpdated(uri: string | URL): void;
}

/** An added app: the tool and its page. */
export interface AppHandle<InputSchema = any, OutputSchema = any>
  extends Handle<AppDefinition<InputSchema, OutputSchema>> {
  /** The tool's name, as given. */
  readonly name: string;
  /** The URI of the page, `ui://…`. */
  readonly resourceUri: string;
}
