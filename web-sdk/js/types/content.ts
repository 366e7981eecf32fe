/** What handlers return, and content blocks. */

import type { InferOutput, ToolSchema, ToolValue } from "./infer.ts";

/**
 * What a tool returns:
 *
 * - any JSON value, or nothing: clients see it as text, and an object as `structuredContent` too;
 * - bytes or a picture ({@link Binary}), a block made by {@link content}, or an array with one of these in it: content
 *   blocks. A picture becomes an image, a `Blob` of type `audio/…` audio, other bytes an embedded resource;
 * - {@link McpToolResult}: content blocks, structured content, or both. An object with any other field is a JSON value.
 *
 * With an `outputSchema`, what it describes, alone or as `structuredContent`. What JSON cannot carry is an error.
 */
export type ToolResult<OutputSchema = any, Value = any> = 0 extends 1 & OutputSchema
  ? any
  : OutputSchema extends ToolSchema
    ? InferOutput<OutputSchema> | StructuredResult<InferOutput<OutputSchema>>
    : ToolValue<Value>;

/** What a tool with an output schema may return besides the structured content alone. */
export type StructuredResult<Structured> =
  | (Omit<McpToolResult, "structuredContent"> & { structuredContent: Structured; isError?: false })
  | (Omit<McpToolResult, "structuredContent"> & { structuredContent?: Structured; isError: boolean });

/** A tool's result in the shape of MCP's `CallToolResult`. */
export interface McpToolResult {
  /** What model and person see. */
  content: readonly (ContentBlock | Binary)[];
  /** What programs see; must fit the tool's output schema. */
  structuredContent?: object;
  /** Whatever a client and this app agree on. */
  _meta?: { [key: string]: unknown };
  /** The tool failed, and the content says why. */
  isError?: boolean;
}

/**
 * What `read` returns: text, bytes, {@link ResourcePart}s, an object with `contents`, or any other JSON value, which
 * becomes text of type `application/json`.
 */
export type ResourceContent = unknown;

/** One part of a resource's content. */
export interface ResourcePart {
  /** Its own URI, if that is not the resource's. */
  uri?: string;
  /** The type of the content. */
  mimeType?: string;
  /** Either text … */
  text?: string;
  /** … or bytes, or their base64. */
  blob?: Source;
  /** Fields that a client and this app agree on. */
  _meta?: { [key: string]: unknown };
}

/** What `get` returns: one message of the user as text, messages, or messages with a description. */
export type PromptContent =
  | string
  | readonly (string | Message)[]
  | { description?: string; messages: string | readonly (string | Message)[]; [field: string]: unknown };

/** A message of a prompt or a sampling request. Several blocks become several messages, except those of tools. */
export interface Message {
  /**
   * Whose message it is.
   *
   * @defaultValue `"user"`
   */
  role?: "user" | "assistant";
  /** The content, or several parts of it. */
  content: MessageContent | readonly MessageContent[];
}

/** Content of a message: text, a block, bytes, or in sampling the use of a tool and its result. */
export type MessageContent = string | ContentBlock | Binary | ToolBlock;

/** Of sampling with tools (MCP 2025-11-25): a model's use of a tool, or what came of it. */
export interface ToolBlock {
  /** The kind of the block: the use of a tool, or its result. */
  type: "tool_use" | "tool_result";
  [field: string]: unknown;
}

/** Bytes or a picture, as browsers hold them. Pictures are sent as PNG. */
export type Binary =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ImageData
  | ImageBitmap
  | HTMLCanvasElement
  | OffscreenCanvas;

/** Something to send as base64: bytes, a picture, a data URL, base64 itself, or base64 with its type. */
export type Source = Binary | string | { data: string | Binary; mimeType?: string };

/** Makes content blocks. What has to be converted is converted when the block is sent. */
export interface ContentFactory {
  /** Text for model and person. */
  text(text: string, annotations?: Annotations): TextContent;
  /**
   * A picture. The type is that of the source, or found in its first bytes, unless given.
   *
   * For a client that takes only small pictures ({@link ClientLimits.maxImageEdge}), pictures in results are made
   * smaller in the page, unless `keepSize` is set. What the browser cannot make smaller is sent as it is.
   */
  image(source: Source, mimeType?: string, options?: { keepSize?: boolean }): ImageContent;
  /** A sound. The type is that of the source, or found in its first bytes, unless given. */
  audio(source: Source, mimeType?: string): AudioContent;
  /** A resource's content, embedded. */
  resource(resource: { uri: string; mimeType?: string; text?: string; blob?: Source; _meta?: object }): EmbeddedResource;
  /** A link to a resource. */
  link(link: Omit<ResourceLink, "type">): ResourceLink;
}

/** MCP's `ContentBlock`. */
export type ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

interface BlockFields {
  /** Hints for clients. */
  annotations?: Annotations;
  /** Fields that a client and this app agree on. */
  _meta?: { [key: string]: unknown };
}

/** Text for model and person. */
export interface TextContent extends BlockFields {
  /** The kind of the block. */
  type: "text";
  /** The text. */
  text: string;
}

/** A picture. */
export interface ImageContent extends BlockFields {
  /** The kind of the block. */
  type: "image";
  /** The picture. */
  data: Source;
  /** The type of the picture. Without it, the type of `data` counts, or what its first bytes show. */
  mimeType?: string;
}

/** A sound. */
export interface AudioContent extends BlockFields {
  /** The kind of the block. */
  type: "audio";
  /** The sound. */
  data: Source;
  /** The type of the sound. Without it, the type of `data` counts, or what its first bytes show. */
  mimeType?: string;
}

/** A resource's content, embedded. */
export interface EmbeddedResource extends BlockFields {
  /** The kind of the block. */
  type: "resource";
  /** The resource: its URI, its type, and text or bytes. */
  resource: { uri: string; mimeType?: string; text?: string; blob?: Source; _meta?: object };
}

/** A link to a resource. */
export interface ResourceLink extends BlockFields {
  /** The kind of the block. */
  type: "resource_link";
  /** The URI of the resource. */
  uri: string;
  /** A name for programs. */
  name: string;
  /** A name for people. */
  title?: string;
  /** What the resource is, for the model. */
  description?: string;
  /** The type of the content. */
  mimeType?: string;
  /** The length of the content in bytes, before base64. */
  size?: number;
  /** Icons for people. */
  icons?: readonly Icon[];
}

/** Hints for clients about a block or resource. */
export interface Annotations {
  /** Who the content is for. */
  audience?: readonly ("user" | "assistant")[];
  /** From 0, the least important, to 1. */
  priority?: number;
  /** ISO 8601. */
  lastModified?: string;
}

/** An icon of the MCP specification. */
export interface Icon {
  /** The address of the picture, which may be a data URL. */
  src: string;
  /** The type of the picture. */
  mimeType?: string;
  /** The sizes that the picture is made for, such as `48x48`, or `any`. */
  sizes?: readonly string[];
  /** The colour scheme that the icon is made for. */
  theme?: "light" | "dark";
}
