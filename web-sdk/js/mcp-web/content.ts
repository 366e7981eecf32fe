/**
 * Content blocks (MCP `ContentBlock`), and what browsers hold pictures, sounds and bytes in.
 *
 * The functions here answer at once where they can, and with a promise where the browser answers later:
 * what needs no waiting travels in the same task.
 */

import { isObject } from "./objects.js";

const BLOCK_TYPES = ["text", "image", "audio", "resource", "resource_link"];

/** Blocks that were made here: they mean what they look like, wherever they are returned. */
const made = new WeakSet();

/** Pictures that the app wants sent as large as they are. */
const keptSize = new WeakSet();

function make(block) {
  made.add(block);
  return block;
}

/** Makes content blocks. Pictures, sounds and bytes are converted when the block is sent. */
export const content = Object.freeze({
  text: (text, annotations) => make({ type: "text", text: String(text), ...(annotations && { annotations }) }),
  image(source, mimeType, { keepSize } = {}) {
    const block = make({ type: "image", data: source, ...(mimeType && { mimeType }) });
    if (keepSize) keptSize.add(block);
    return block;
  },
  audio: (source, mimeType) => make({ type: "audio", data: source, ...(mimeType && { mimeType }) }),
  resource: (resource) => make({ type: "resource", resource }),
  link: (link) => make({ type: "resource_link", ...link }),
});

export function isBlock(value) {
  return isObject(value) && BLOCK_TYPES.includes(value.type);
}

/** Whether the value can only mean content: bytes, a picture, or a block that was made here. */
export function isContent(value) {
  return isObject(value) && (made.has(value) || isBinary(value) || (isBlock(value) && isBinary(value.data)));
}

/** Whether the block is a picture that may be made smaller. */
export const isScalable = (block) => block.type === "image" && !keptSize.has(block);

export function isBinary(value) {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value) || isBlob(value) || isPicture(value);
}

const is = (value, ...classes) => classes.some((name) => typeof globalThis[name] === "function" && value instanceof globalThis[name]);
const isBlob = (value) => is(value, "Blob");
const isPicture = (value) => is(value, "ImageData", "HTMLCanvasElement", "OffscreenCanvas", "ImageBitmap");

/** `next(value)`, at once if the value is there. */
export const maybeLater = (value, next) => (value instanceof Promise ? value.then(next) : next(value));

/** The list, at once if all of it is there. */
export const allOf = (list) => (list.some((value) => value instanceof Promise) ? Promise.all(list) : list);

/** Anything as a block that can be sent: a block, text, bytes, a picture; other values as JSON text. */
export function blockOf(value, index = 0) {
  if (typeof value === "string") return { type: "text", text: value };
  if (isBinary(value)) return maybeLater(base64Of(value), (encoded) => blockOfBytes(encoded, value, index));
  if (isBlock(value)) return sendable(value);
  return { type: "text", text: JSON.stringify(value) ?? String(value) };
}

function blockOfBytes({ data, mimeType = "application/octet-stream" }, { name }, index) {
  const [type] = mimeType.split("/");
  if (type === "image" || type === "audio") return { type, data, mimeType };
  const uri = `result://${encodeURIComponent(name ?? index + 1)}`;
  return { type: "resource", resource: { uri, mimeType, blob: data } };
}

/** The block with its bytes as base64. */
function sendable(block) {
  const { type, data, resource } = block;
  if (type === "image" || type === "audio") {
    return maybeLater(base64Of(data, block.mimeType), (encoded) => {
      const mimeType = encoded.mimeType ?? (type === "image" ? "image/png" : "audio/wav");
      const ready = { ...block, data: encoded.data, mimeType };
      if (keptSize.has(block)) keptSize.add(ready);
      return ready;
    });
  }
  if (type === "resource" && isObject(resource) && resource.blob !== undefined) {
    return maybeLater(base64Of(resource.blob, resource.mimeType), ({ data: blob, mimeType }) => ({
      ...block,
      resource: { ...resource, ...(mimeType && { mimeType }), blob },
    }));
  }
  return block;
}

/**
 * Bytes as base64, `{ data, mimeType? }`: of bytes, a `Blob`, a picture (as PNG), a data URL, `{ data, mimeType }`,
 * or base64 itself.
 */
export function base64Of(source, mimeType) {
  if (typeof source === "string") return ofText(source, mimeType);
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    const data = base64(ArrayBuffer.isView(source) ? source : new Uint8Array(source));
    return { data, mimeType: mimeType ?? sniffed(data) };
  }
  if (isBlob(source)) return ofBlob(source, mimeType ?? (source.type || undefined));
  if (isPicture(source)) return ofPicture(source, mimeType);
  if (isObject(source) && source.data !== undefined) return base64Of(source.data, mimeType ?? source.mimeType);
  throw new TypeError(
    "a picture, sound or blob must be a data URL, base64, a Blob, an ArrayBuffer, a typed array, a canvas, an ImageBitmap or an ImageData",
  );
}

function ofText(text, mimeType) {
  const url = /^data:([^,;]*)[^,]*?(;base64)?,/i.exec(text);
  if (!url) return { data: text, mimeType: mimeType ?? sniffed(text) };
  const rest = text.slice(url[0].length);
  const data = url[2] ? rest.replace(/\s|%[0-9a-f]{2}/gi, (part) => (part[0] === "%" ? decodeURIComponent(part) : "")) : percentDecoded(rest);
  return { data, mimeType: mimeType ?? (url[1] || "text/plain") };
}

function percentDecoded(text) {
  return base64(new TextEncoder().encode(decodeURIComponent(text)));
}

async function ofBlob(blob, mimeType) {
  return base64Of(await blob.arrayBuffer(), mimeType);
}

function ofPicture(picture, mimeType = "image/png") {
  const canvas = is(picture, "HTMLCanvasElement", "OffscreenCanvas") ? picture : drawn(picture);
  if (canvas.convertToBlob) return canvas.convertToBlob({ type: mimeType }).then((blob) => ofBlob(blob, blob.type));
  return ofText(canvas.toDataURL(mimeType));
}

function drawn(picture) {
  const { width, height } = picture;
  const canvas =
    typeof OffscreenCanvas === "function"
      ? new OffscreenCanvas(width, height)
      : Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  is(picture, "ImageData") ? context.putImageData(picture, 0, 0) : context.drawImage(picture, 0, 0);
  return canvas;
}

/** More arguments than this overflow the stack of some browsers. */
const CHUNK = 0x8000;

function base64(view) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  if (bytes.toBase64) return bytes.toBase64();
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

/** The first bytes of the formats that pages make. */
const BEGINNINGS = { "image/png": "iVBORw0KGg", "image/jpeg": "/9j/", "image/gif": "R0lGOD", "audio/mpeg": "SUQz", "audio/ogg": "T2dnUw" };

function sniffed(data) {
  if (data.startsWith("UklGR")) return { WEBP: "image/webp", WAVE: "audio/wav" }[atob(data.slice(0, 16)).slice(8)];
  return Object.keys(BEGINNINGS).find((mimeType) => data.startsWith(BEGINNINGS[mimeType]));
}
