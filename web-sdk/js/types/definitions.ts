/** What an app offers: tools, resources, prompts, apps. */

import type { CallContext, CallFacts } from "./calls.ts";
import type { Annotations, Icon, PromptContent, ResourceContent, ToolResult } from "./content.ts";
import type { InferInput, UriTemplateVariables } from "./infer.ts";

/**
 * What all definitions have in common: fields of the MCP object, which are passed on as they are, in their order.
 *
 * A field that these types do not have is an error, because it is most likely misspelled. One of a newer MCP is passed on
 * all the same: `{ ...({ newField: 1 } as object), name, handler }`.
 */
export interface DefinitionFields {
  /** A name for people. */
  title?: string;
  /** What it is for and when to use it, for the model. */
  description?: string;
  /** Icons for people. */
  icons?: readonly Icon[];
  /** Whatever a client and this app agree on. */
  _meta?: { [key: string]: unknown };
}

/**
 * A tool: an MCP tool object and the function that does the work.
 *
 * The types of the input and of the result follow from the schemas: see {@link FromJsonSchema}.
 */
export interface ToolDefinition<InputSchema = any, OutputSchema = any, Value = any> extends DefinitionFields {
  /**
   * The name that clients call. Best at most 40 characters of `a-z A-Z 0-9 _ -`: a name over 64
   * characters or with others is published changed, see {@link Handle.publishedName}.
   */
  name: string;
  /**
   * What the input must look like, always of type `object`: JSON Schema, or a schema of a library that converts itself to
   * it (Standard JSON Schema). Calls that do not fit never reach the handler. The library's defaults and transforms do.
   */
  inputSchema?: InputSchema;
  /** What an object returned by the handler looks like, as above. A result that does not fit is an error. */
  outputSchema?: OutputSchema;
  /** Hints about the tool's behaviour. */
  annotations?: ToolAnnotations;
  /**
   * How long a call may take, in whole milliseconds from 1. More than the bridge's `max_call_timeout` (1 h unless
   * configured otherwise) is cut to that. Travels as `_meta["mcp-web/timeout"]`.
   *
   * @defaultValue The bridge's `call_timeout`.
   */
  timeout?: number;
  /**
   * Whether agents of the browser can use the tool, too, see {@link WebMcpOptions.mirror}. It is not sent to the bridge.
   *
   * @defaultValue `true`
   */
  webmcp?: boolean;
  /**
   * Does the work. What it returns, or what its promise is fulfilled with, is the result, see {@link ToolResult}.
   * What it throws becomes an error result with the error's `message`, and `data` if it has that. Results are
   * limited by the bridge, 10 MiB of JSON unless configured otherwise.
   *
   * Each call runs at most once. The `client` and the input come from outside: treat them as such.
   */
  handler: (
    input: InferInput<InputSchema>,
    context: CallContext,
  ) => ToolResult<OutputSchema, Value> | Promise<ToolResult<OutputSchema, Value>>;
}

/** A resource: an MCP resource object and the function that reads it. */
export interface ResourceDefinition extends DefinitionFields {
  /** Its absolute URI, of any scheme. */
  uri: string;
  /** A name for programs. */
  name: string;
  /** The type of its content, unless {@link ResourceDefinition.read} says another. */
  mimeType?: string;
  /** The length of its content in bytes, before base64. */
  size?: number;
  /** Hints for clients. */
  annotations?: Annotations;
  /** Reads it. Throw a {@link McpWebError} with code `ResourceNotFound` when it is not there. */
  read(uri: URL, context: CallContext): ResourceContent | Promise<ResourceContent>;
  /** A first client subscribed to it. */
  onSubscribe?(): void;
  /** No client is subscribed to it any more. */
  onUnsubscribe?(): void;
}

/** A resource template: an MCP template object and the function that reads what fits it. */
export interface ResourceTemplateDefinition<Template extends string = any> extends DefinitionFields {
  /** An RFC 6570 template with at least one variable, such as `board://cards/{id}`. */
  uriTemplate: Template;
  /** A name for programs. */
  name: string;
  /** The type of the contents, if it is the same for all. */
  mimeType?: string;
  /** Hints for clients. */
  annotations?: Annotations;
  /** Reads one of them. Throw a {@link McpWebError} with code `ResourceNotFound` when it is not there. */
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
  /** What a person can fill in. */
  arguments?: readonly PromptArgument<Argument>[];
  /** Fills it in. Required arguments are there. */
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
  /** What to fill in, for people. */
  description?: string;
  /** Whether the prompt cannot be filled in without it. */
  required?: boolean;
  /** Proposes values while a person types. */
  complete?: Completer;
}

/** Proposes values for an argument: at most 100 are passed on. */
export type Completer = (
  /** What is written so far. */
  value: string,
  context: CompletionContext,
) => Completion | Promise<Completion>;

/** Values, best first. */
export type Completion = readonly string[] | { values: readonly string[]; total?: number; hasMore?: boolean };

/** What a completer gets besides the value. */
export interface CompletionContext extends CallFacts {
  /** The arguments or variables that have their values already. */
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
        /** The page, whole, or a function that makes it each time it is read. */
        html: string | (() => string | Promise<string>);
        url?: never;
      }
    | {
        /** The page's address, of this page's origin. It is fetched each time it is read. */
        url: string | URL;
        html?: never;
      }
  ) & {
    /** What the page may load; nothing from elsewhere unless said here. */
    csp?: {
      /** Origins for `fetch`, `XMLHttpRequest` and WebSocket. */
      connectDomains?: readonly string[];
      /** Origins for pictures, scripts, styles, fonts and media. */
      resourceDomains?: readonly string[];
      /** Origins of frames inside. */
      frameDomains?: readonly string[];
      /** Origins for `<base>`. */
      baseUriDomains?: readonly string[];
    };
    /** What the page may ask the browser for. */
    permissions?: { camera?: {}; microphone?: {}; geolocation?: {}; clipboardWrite?: {} };
    /** Whether a host should draw a border around it. */
    prefersBorder?: boolean;
    /** An origin of its own, in the host's form. */
    domain?: string;
  };

/** Hints of the MCP specification about a tool's behaviour. */
export interface ToolAnnotations {
  /** A name for people. */
  title?: string;
  /** The tool changes nothing. */
  readOnlyHint?: boolean;
  /** The tool may destroy something. */
  destructiveHint?: boolean;
  /** Calling it again with the same input changes nothing more. */
  idempotentHint?: boolean;
  /** The tool deals with things outside the app. */
  openWorldHint?: boolean;
}
