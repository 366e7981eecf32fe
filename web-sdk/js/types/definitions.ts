/** The items that an app offers: tools, resources, prompts, apps. */

import type { CallContext, CallFacts } from "./calls.ts";
import type { Annotations, Icon, PromptContent, ResourceContent, ToolResult } from "./content.ts";
import type { InferInput, UriTemplateVariables } from "./infer.ts";

/**
 * The common fields of all definitions: fields of the MCP object, which are passed on unchanged, in their order.
 *
 * An unknown field is a type error, because it is probably misspelled. A field of a newer MCP can still be passed:
 * `{ ...({ newField: 1 } as object), name, handler }`.
 */
export interface DefinitionFields {
  /** A name for people. */
  title?: string;
  /** Its purpose and when to use it, for the model. */
  description?: string;
  /** Icons for people. */
  icons?: readonly Icon[];
  /** Fields that a client and this app agree on. */
  _meta?: { [key: string]: unknown };
}

/**
 * A tool: an MCP tool object and its handler.
 *
 * The types of the input and of the result are derived from the schemas: see {@link FromJsonSchema}.
 */
export interface ToolDefinition<InputSchema = any, OutputSchema = any, Value = any> extends DefinitionFields {
  /**
   * The name that clients call. Best at most 40 characters of `a-z A-Z 0-9 _ -`: a name over 64
   * characters or with others is published changed, see {@link Handle.publishedName}.
   */
  name: string;
  /**
   * The schema of the input, always of type `object`: JSON Schema, or a schema of a library that converts itself to it
   * (Standard JSON Schema). Calls that do not match never reach the handler. The library's defaults and transforms are
   * applied before the handler runs.
   */
  inputSchema?: InputSchema;
  /** The schema of an object that the handler returns, as above. A result that does not match is an error. */
  outputSchema?: OutputSchema;
  /** Hints about the tool's behaviour. */
  annotations?: ToolAnnotations;
  /**
   * Maximum duration of a call, in whole milliseconds from 1. The bridge limits it to its `max_call_timeout` (1 h unless
   * configured otherwise). It is sent as `_meta["mcp-web/timeout"]`.
   *
   * @defaultValue The bridge's `call_timeout`.
   */
  timeout?: number;
  /**
   * Whether agents of the browser can also use the tool, see {@link WebMcpOptions.mirror}. It is not sent to the bridge.
   *
   * @defaultValue `true`
   */
  webmcp?: boolean;
  /**
   * Runs a call. The return value, or the value of its promise, is the result, see {@link ToolResult}. An exception becomes
   * an error result with the error's `message`, and its `data` if it has that. The bridge limits results, to 10 MiB of JSON
   * unless configured otherwise.
   *
   * Each call runs at most once. The `client` and the input are untrusted.
   */
  handler: (
    input: InferInput<InputSchema>,
    context: CallContext,
  ) => ToolResult<OutputSchema, Value> | Promise<ToolResult<OutputSchema, Value>>;
}

/** A resource: an MCP resource object and the function that reads it. */
export interface ResourceDefinition extends DefinitionFields {
  /** Its absolute URI, with any scheme. */
  uri: string;
  /** A name for programs. */
  name: string;
  /** The type of its content, unless {@link ResourceDefinition.read} returns another. */
  mimeType?: string;
  /** The length of its content in bytes, before base64. */
  size?: number;
  /** Hints for clients. */
  annotations?: Annotations;
  /** Reads it. Throw a {@link McpWebError} with code `ResourceNotFound` if it does not exist. */
  read(uri: URL, context: CallContext): ResourceContent | Promise<ResourceContent>;
  /** Called when a first client subscribes to it. */
  onSubscribe?(): void;
  /** Called when the last client has unsubscribed from it. */
  onUnsubscribe?(): void;
}

/** A resource template: an MCP template object and the function that reads matching resources. */
export interface ResourceTemplateDefinition<Template extends string = any> extends DefinitionFields {
  /** An RFC 6570 template with at least one variable, such as `board://cards/{id}`. */
  uriTemplate: Template;
  /** A name for programs. */
  name: string;
  /** The type of the contents, if it is the same for all of them. */
  mimeType?: string;
  /** Hints for clients. */
  annotations?: Annotations;
  /** Reads one of them. Throw a {@link McpWebError} with code `ResourceNotFound` if it does not exist. */
  read(
    uri: URL,
    variables: { [name in UriTemplateVariables<Template>]: string },
    context: CallContext,
  ): ResourceContent | Promise<ResourceContent>;
  /** Completes variables, by their names. */
  complete?: { [name in UriTemplateVariables<Template>]?: Completer };
}

/** A prompt: an MCP prompt object and the function that fills it in. */
export interface PromptDefinition<Argument extends string = any> extends DefinitionFields {
  /** The name that clients show; the rules of tool names apply. */
  name: string;
  /** The arguments that a person can fill in. */
  arguments?: readonly PromptArgument<Argument>[];
  /** Fills it in. Required arguments are present. */
  get(
    args: { [name in Argument]?: string },
    context: CallContext,
  ): PromptContent | Promise<PromptContent>;
}

/** An argument of a prompt. Its value is always a string. */
export interface PromptArgument<Name extends string = string> {
  /** The name, unique within the prompt. */
  name: Name;
  /** A name for people. */
  title?: string;
  /** A description of the argument, for people. */
  description?: string;
  /** Whether the argument is required. */
  required?: boolean;
  /** Suggests values while a person types. */
  complete?: Completer;
}

/** Suggests values for an argument: at most 100 are passed on. */
export type Completer = (
  /** The text typed so far. */
  value: string,
  context: CompletionContext,
) => Completion | Promise<Completion>;

/** Values, best first. */
export type Completion = readonly string[] | { values: readonly string[]; total?: number; hasMore?: boolean };

/** The context of a completer. */
export interface CompletionContext extends CallFacts {
  /** The arguments or variables that already have values. */
  readonly arguments: { readonly [name: string]: string };
}

/** An MCP App: a tool, and the page that shows its result. */
export type AppDefinition<InputSchema = any, OutputSchema = any, Value = any> = ToolDefinition<
  InputSchema,
  OutputSchema,
  Value
> &
  (
    | {
        /** The whole page, or a function that creates it each time it is read. */
        html: string | (() => string | Promise<string>);
        url?: never;
      }
    | {
        /** The page's address, of this page's origin. It is fetched each time it is read. */
        url: string | URL;
        html?: never;
      }
  ) & {
    /**
     * The origins that the page may load from; none unless listed here. A path limits an origin: to everything below
     * it if it ends with `/`, otherwise to one file.
     */
    csp?: {
      /** Origins for `fetch`, `XMLHttpRequest` and WebSocket. */
      connectDomains?: readonly string[];
      /** Origins for pictures, scripts, styles, fonts and media. */
      resourceDomains?: readonly string[];
      /** Origins of nested frames. */
      frameDomains?: readonly string[];
      /** Origins for `<base>`. */
      baseUriDomains?: readonly string[];
    };
    /** The permissions that the page may request from the browser. */
    permissions?: { camera?: {}; microphone?: {}; geolocation?: {}; clipboardWrite?: {} };
    /** Whether a host should draw a border around it. */
    prefersBorder?: boolean;
    /** A dedicated origin, in the host's format. */
    domain?: string;
  };

/** Hints of the MCP specification about a tool's behaviour. */
export interface ToolAnnotations {
  /** A name for people. */
  title?: string;
  /** The tool has no side effects. */
  readOnlyHint?: boolean;
  /** The tool may be destructive. */
  destructiveHint?: boolean;
  /** A repeated call with the same input has no additional effect. */
  idempotentHint?: boolean;
  /** The tool interacts with things outside the app. */
  openWorldHint?: boolean;
}
