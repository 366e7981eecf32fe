/** The results of handlers, and content blocks. */

import type { InferOutput, ToolSchema, ToolValue } from "./infer.ts";

/**
 * The result of a tool:
 *
 * - any JSON value, or nothing: clients receive it as text, and an object also as `structuredContent`;
 * - bytes or a picture ({@link Binary}), a block made by {@link content}, or an array with one of these in it: content
 *   blocks. A picture becomes an image, a `Blob` of type `audio/…` audio, other bytes an embedded resource;
 * - {@link McpToolResult}: content blocks, structured content, or both. An object with any other field is a JSON value.
 *
 * With an `outputSchema`, the value that it describes, alone or as `structuredContent`. A value that is not JSON is an
 * error.
 */
export type ToolResult<OutputSchema = any, Value = any> = 0 extends 1 & OutputSchema
  ? any
  : OutputSchema extends ToolSchema
    ? InferOutput<OutputSchema> | StructuredResult<InferOutput<OutputSchema>>
    : ToolValue<Value>;

/** The results that a tool with an output schema may return besides the plain structured content. */
export type StructuredResult<Structured> =
  | (Omit<McpToolResult, "structuredContent"> & { structuredContent: Structured; isError?: false })
  | (Omit<McpToolResult, "structuredContent"> & { structuredContent?: Structured; isError: boolean });

/** A tool's result in the format of MCP's `CallToolResult`. */
export interface McpToolResult {
  /** The content for the model and the person. */
  content: readonly (ContentBlock | Binary)[];
  /** The content for programs; it must match the tool's output schema. */
  structuredContent?: object;
  /** Fields that a client and this app agree on. */
  _meta?: { [key: string]: unknown };
  /** Whether the tool failed. The content has the reason. */
  isError?: boolean;
}

/**
 * The result of `read`: text, bytes, {@link ResourcePart}s, an object with `contents`, or any other JSON value, which
 * becomes text of type `application/json`.
 */
export type ResourceContent = unknown;

/** One part of a resource's content. */
export interface ResourcePart {
  /** Its URI, if it differs from the resource's. */
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

/** The result of `get`: one message of the user as text, messages, or messages with a description. */
export type PromptContent =
  | string
  | readonly (string | Message)[]
  | { description?: string; messages: string | readonly (string | Message)[]; [field: string]: unknown };

/** A message of a prompt or a sampling request. Several blocks become several messages, except those of tools. */
export interface Message {
  /**
   * The role of the author.
   *
   * @defaultValue `"user"`
   */
  role?: "user" | "assistant";
  /** The content, or several parts of it. */
  content: MessageContent | readonly MessageContent[];
}

/** Content of a message: text, a block, bytes, or in sampling the use of a tool and its result. */
export type MessageContent = string | ContentBlock | Binary | ToolBlock;

/** Blocks for sampling with tools (MCP 2025-11-25): a model's use of a tool, or its result. */
export interface ToolBlock {
  /** The kind of the block: the use of a tool, or its result. */
  type: "tool_use" | "tool_result";
  [field: string]: unknown;
}

/** Bytes or a picture, in the browser's types. Pictures are sent as PNG. */
export type Binary =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ImageData
  | ImageBitmap
  | HTMLCanvasElement
  | OffscreenCanvas;

/** A value to send as base64: bytes, a picture, a data URL, base64 itself, or base64 with its type. */
export type Source = Binary | string | { data: string | Binary; mimeType?: string };

/** Creates content blocks. Values that must be converted are converted when the block is sent. */
export interface ContentFactory {
  /** Text for the model and the person. */
  text(text: string, annotations?: Annotations): TextContent;
  /**
   * A picture. The type is that of the source, or detected from its first bytes, unless given.
   *
   * For a client that accepts only small pictures ({@link ClientLimits.maxImageEdge}), pictures in results are scaled down
   * in the page, unless `keepSize` is set. A picture that the browser cannot scale is sent unchanged.
   */
  image(source: Source, mimeType?: string, options?: { keepSize?: boolean }): ImageContent;
  /** A sound. The type is that of the source, or detected from its first bytes, unless given. */
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

/** Text for the model and the person. */
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
  /** The type of the picture. By default, it is the type of `data`, or is detected from its first bytes. */
  mimeType?: string;
}

/** A sound. */
export interface AudioContent extends BlockFields {
  /** The kind of the block. */
  type: "audio";
  /** The sound. */
  data: Source;
  /** The type of the sound. By default, it is the type of `data`, or is detected from its first bytes. */
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
  /** A description of the resource, for the model. */
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
  /** The audience of the content. */
  audience?: readonly ("user" | "assistant")[];
  /** The importance, from 0 (least) to 1. */
  priority?: number;
  /** A date in the format of ISO 8601. */
  lastModified?: string;
}

/** An icon of the MCP specification. */
export interface Icon {
  /** The address of the picture, which may be a data URL. */
  src: string;
  /** The type of the picture. */
  mimeType?: string;
  /** The sizes that the picture is designed for, such as `48x48`, or `any`. */
  sizes?: readonly string[];
  /** The colour scheme that the icon is designed for. */
  theme?: "light" | "dark";
}
