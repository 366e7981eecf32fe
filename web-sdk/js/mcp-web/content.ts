/**
 * Content blocks (MCP `ContentBlock`), and the browser's types for pictures, sounds and bytes.
 *
 * These functions return synchronously if they can, and otherwise a promise, so that data that needs no waiting is sent in
 * the same task.
 */

import { read } from "../dom/native.ts";
import type { Binary, ContentBlock, ContentFactory, ImageContent } from "../types/content.ts";
import { base64 } from "./base64.ts";
import { loadModule } from "./lazy.ts";
import { isObject } from "./type-guards.ts";

const BLOCK_TYPES: unknown[] = ["text", "image", "audio", "resource", "resource_link"];

/** Blocks that were created here. They count as content in any result. */
const createdBlocks = new WeakSet<object>();

/** Pictures that the app wants to send in their full size. */
const fullSizeBlocks = new WeakSet<object>();

/** Bytes as base64, and their type if it is known. */
export interface EncodedBytes {
  data: string;
  mimeType?: string | undefined;
}

/** A value, or a promise of it where the browser needs time. */
export type MaybePromise<Value> = Value | Promise<Value>;

function create<Block extends ContentBlock>(block: Block): Block {
  createdBlocks.add(block);
  return block;
}

/** Creates content blocks. Pictures, sounds and bytes are converted when the block is sent. */
export const content: ContentFactory = Object.freeze<ContentFactory>({
  text: (text, annotations) => create({ type: "text", text: String(text), ...(annotations && { annotations }) }),
  image(source, mimeType, { keepSize } = {}) {
    const block = create<ImageContent>({ type: "image", data: source, ...(mimeType && { mimeType }) });
    if (keepSize) fullSizeBlocks.add(block);
    return block;
  },
  audio: (source, mimeType) => create({ type: "audio", data: source, ...(mimeType && { mimeType }) }),
  resource: (resource) => create({ type: "resource", resource }),
  link: (link) => create({ type: "resource_link", ...link }),
});

/** Returns whether the value looks like a content block. */
export function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && BLOCK_TYPES.includes(value.type);
}

/** Returns whether the value must be content: bytes, a picture, or a block that was created here. */
export function isContent(value: unknown): value is ContentBlock | Binary {
  return isObject(value) && (createdBlocks.has(value) || isBinary(value) || (isBlock(value) && isBinary((value as { data?: unknown }).data)));
}

/** Returns whether the block is a picture that may be scaled down. */
export const isScalable = (block: ContentBlock): block is ImageContent =>
  block.type === "image" && !fullSizeBlocks.has(block);

/** Returns whether the value is bytes or a picture, in one of the browser's types. */
export function isBinary(value: unknown): value is Binary {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value) || isBlob(value) || isPicture(value);
}

type Picture = ImageData | HTMLCanvasElement | OffscreenCanvas | ImageBitmap;

/** Returns whether the value is an instance of one of these classes of the browser, some of which may be missing. */
const isInstance = (value: unknown, ...classes: string[]): boolean =>
  classes.some((name) => {
    const type = (globalThis as unknown as { [name: string]: new () => unknown })[name];
    return typeof type === "function" && value instanceof type;
  });
const isBlob = (value: unknown): value is Blob => isInstance(value, "Blob");
const isCanvas = (value: unknown): value is HTMLCanvasElement | OffscreenCanvas =>
  isInstance(value, "HTMLCanvasElement", "OffscreenCanvas");
const isPicture = (value: unknown): value is Picture => isCanvas(value) || isInstance(value, "ImageData", "ImageBitmap");

/** Calls `next` with the value, synchronously if it is not a promise. */
export const mapMaybePromise = <Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> => (value instanceof Promise ? value.then(next) : next(value));

/** Returns the list, synchronously if it contains no promise. */
export const allMaybePromises = <Value>(list: MaybePromise<Value>[]): MaybePromise<Value[]> =>
  list.some((value) => value instanceof Promise) ? Promise.all(list) : (list as Value[]);

/** Converts anything to a block that can be sent: a block, text, bytes, a picture; other values become JSON text. */
export function toBlock(value: unknown, index = 0): MaybePromise<ContentBlock> {
  if (typeof value === "string") return { type: "text", text: value };
  if (isBinary(value)) return mapMaybePromise(encodeBase64(value), (encoded) => blockOfBytes(encoded, value as { name?: string }, index));
  if (isBlock(value)) return encodeBlock(value);
  return { type: "text", text: JSON.stringify(value) ?? String(value) };
}

function blockOfBytes(
  { data, mimeType = "application/octet-stream" }: EncodedBytes,
  { name }: { name?: string },
  index: number,
): ContentBlock {
  const [type] = mimeType.split("/");
  if (type === "image" || type === "audio") return { type, data, mimeType };
  const uri = `result://${encodeURIComponent(name ?? index + 1)}`;
  return { type: "resource", resource: { uri, mimeType, blob: data } };
}

/** Returns the block with its bytes as base64. */
function encodeBlock(block: ContentBlock): MaybePromise<ContentBlock> {
  if (block.type === "image" || block.type === "audio") {
    return mapMaybePromise(encodeBase64(block.data, block.mimeType), (encoded): ContentBlock => {
      const mimeType = encoded.mimeType ?? (block.type === "image" ? "image/png" : "audio/wav");
      const ready = { ...block, data: encoded.data, mimeType };
      if (fullSizeBlocks.has(block)) fullSizeBlocks.add(ready);
      return ready;
    });
  }
  if (block.type === "resource" && isObject(block.resource) && block.resource.blob !== undefined) {
    const { resource } = block;
    return mapMaybePromise(encodeBase64(resource.blob, resource.mimeType), ({ data: blob, mimeType }) => ({
      ...block,
      resource: { ...resource, ...(mimeType && { mimeType }), blob },
    }));
  }
  return block;
}

/**
 * Encodes bytes as base64, `{ data, mimeType? }`. Accepts bytes, a `Blob`, a picture (encoded as PNG), a data URL,
 * `{ data, mimeType }`, or base64 itself.
 */
export function encodeBase64(source: unknown, mimeType?: string): MaybePromise<EncodedBytes> {
  if (typeof source === "string") return encodeText(source, mimeType);
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    return encodeText(base64(ArrayBuffer.isView(source) ? source : new Uint8Array(source)), mimeType);
  }
  if (isBlob(source)) return encodeBlob(source, mimeType ?? (source.type || undefined));
  if (isPicture(source)) return encodePicture(source, mimeType);
  if (isObject(source) && source.data !== undefined) return encodeBase64(source.data, mimeType ?? (source.mimeType as string | undefined));
  throw new TypeError(
    "a picture, sound or blob must be a data URL, base64, a Blob, an ArrayBuffer, a typed array, a canvas, an ImageBitmap or an ImageData",
  );
}

/** Base64 with a known type needs no module, and all other data of the task is sent at once. */
function encodeText(text: string, mimeType?: string): MaybePromise<EncodedBytes> {
  if (mimeType && !/^data:/i.test(text)) return { data: text, mimeType };
  return loadModule(import("../mcp-web-data-urls.ts"), "data-urls", "Result").then(({ parseText }) => parseText(text, mimeType));
}

async function encodeBlob(blob: Blob, mimeType?: string): Promise<EncodedBytes> {
  return encodeBase64(await blob.arrayBuffer(), mimeType);
}

function encodePicture(picture: Picture, mimeType = "image/png"): MaybePromise<EncodedBytes> {
  const canvas = isCanvas(picture) ? picture : drawOnCanvas(picture);
  if ("convertToBlob" in canvas) {
    return canvas.convertToBlob({ type: mimeType }).then((blob) => encodeBlob(blob, blob.type));
  }
  return encodeText(canvas.toDataURL(mimeType));
}

function drawOnCanvas(picture: ImageData | ImageBitmap): HTMLCanvasElement | OffscreenCanvas {
  const { width, height } = picture;
  const canvas =
    typeof OffscreenCanvas === "function"
      ? new OffscreenCanvas(width, height)
      : Object.assign(read(document, "createElement").call(document, "canvas") as HTMLCanvasElement, { width, height });
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  isInstance(picture, "ImageData")
    ? context.putImageData(picture as ImageData, 0, 0)
    : context.drawImage(picture as ImageBitmap, 0, 0);
  return canvas;
}
