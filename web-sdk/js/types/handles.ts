/// <reference lib="esnext.disposable" preserve="true" />

/** What an app holds of what it added. */

import type {
  AppDefinition,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "./definitions.ts";

/** Options of {@link McpWeb.addTool} and its like. */
export interface AddOptions {
  /** Removes what was added when it is aborted. */
  signal?: AbortSignal;
}

/** Something that was added. With `using`, it is removed at the end of the block. */
export interface Handle<Definition> extends Disposable {
  /** The name that clients see, once the bridge has accepted it. */
  readonly publishedName: string | undefined;
  /**
   * Fulfilled once clients can use it, in its latest version: pending while not connected. Rejected with a
   * {@link McpWebError} when the bridge refuses it (with the bridge's code), when the wasm cannot be
   * loaded, or when it is removed or replaced before (`Removed`). Nobody has to listen: an
   * unheard refusal is written to the console.
   */
  readonly registered: Promise<void>;
  /**
   * Changes some fields, in place; `undefined` takes a field away. Calls that are running go on with the former
   * definition.
   *
   * @returns The new {@link Handle.registered}.
   * @throws TypeError when the whole cannot be such a definition, or the name, `uri` or `uriTemplate` would change.
   */
  update(changes: Changes<Definition>): Promise<void>;
  /**
   * Removes it; calls that are running go on. Has no effect on another of the same name that replaced
   * this one.
   *
   * @returns A promise that is fulfilled once no client can use it. It is never rejected.
   */
  remove(): Promise<void>;
}

/** Fields of a definition to change, or to take away. */
export type Changes<Definition> = { [Field in keyof Definition]?: Definition[Field] | undefined };

/** A tool that was added. */
export interface ToolHandle<InputSchema = any, OutputSchema = any>
  extends Handle<ToolDefinition<InputSchema, OutputSchema>> {
  /** The name as given. */
  readonly name: string;
}

/** A prompt that was added. */
export interface PromptHandle<Argument extends string = any> extends Handle<PromptDefinition<Argument>> {
  /** The name as given. */
  readonly name: string;
}

/** A resource that was added. */
export interface ResourceHandle extends Handle<ResourceDefinition> {
  /** The URI as given. */
  readonly uri: string;
  /** Whether a client is subscribed to it. */
  readonly subscribed: boolean;
  /** Tells subscribed clients that its content changed. */
  notifyUpdated(): void;
}

/** A resource template that was added. */
export interface ResourceTemplateHandle<Template extends string = any>
  extends Handle<ResourceTemplateDefinition<Template>> {
  /** The template as given. */
  readonly uriTemplate: string;
  /** Tells subscribed clients that the content of one of its resources changed. */
  notifyUpdated(uri: string | URL): void;
}

/** An app that was added: the tool and its page. */
export interface AppHandle<InputSchema = any, OutputSchema = any>
  extends Handle<AppDefinition<InputSchema, OutputSchema>> {
  /** The tool's name as given. */
  readonly name: string;
  /** The URI of the page, `ui://…`. */
  readonly resourceUri: string;
}
