/** Scales images down. Loaded when a client accepts only small ones. */

import { invoke } from "./dom/native.ts";
import { decodeBase64 } from "./mcp-web/base64.ts";
import type { EncodedBytes, MaybePromise } from "./mcp-web/content.ts";
import type { ContentBlock, ImageContent } from "./types/content.ts";

/** The function `encodeBase64`, which belongs to another module. */
type Encode = (source: unknown, mimeType?: string) => MaybePromise<EncodedBytes>;

/** The quality of JPEG and WebP at which text in a screenshot stays readable. */
const QUALITY = 0.9;

/** Returns the blocks, with images scaled down if their longer edge has more than `maxEdge` pixels. */
export function scaleBlocks(
  blocks: ContentBlock[],
  maxEdge: number,
  encode: Encode,
  isScalable: (block: ContentBlock) => block is ImageContent,
): Promise<ContentBlock[]> {
  return Promise.all(
    blocks.map(async (block) => (isScalable(block) ? { ...block, ...(await scaleImage(block, maxEdge, encode)) } : block)),
  );
}

/** Scales the image of a data URL, or of an object that has one in `dataUrl`. */
export async function scaleValue(value: unknown, maxEdge: number, encode: Encode): Promise<unknown> {
  const url = (value as { dataUrl?: unknown }).dataUrl ?? value;
  const image = await scaleImage(url, maxEdge, encode);
  if (!image) return value;
  const dataUrl = `data:${image.mimeType};base64,${image.data}`;
  return url === value ? dataUrl : { ...(value as object), dataUrl };
}

/** Returns nothing if the image is small enough or cannot be scaled. It is then sent unchanged. */
async function scaleImage(source: unknown, maxEdge: number, encode: Encode): Promise<Required<EncodedBytes> | undefined> {
  try {
    const { data, mimeType } = await encode(source);
    return await scaleDown(data, mimeType, maxEdge);
  } catch {
    return undefined;
  }
}

/**
 * Returns the image with its longer edge scaled to `maxEdge` pixels: in the same type if the browser can write it,
 * otherwise as PNG. Returns nothing for an image that is small enough.
 *
 * Rejects if the browser cannot read the image, or has no canvas here.
 */
async function scaleDown(data: string, mimeType: string | undefined, maxEdge: number) {
  const bitmap = await createImageBitmap(new Blob([decodeBase64(data)], { type: mimeType ?? "" }));
  try {
    const { width, height } = bitmap;
    const scale = maxEdge / Math.max(width, height);
    if (scale >= 1) return undefined;
    const scaled = (edge: number) => Math.max(1, Math.round(edge * scale));
    const [smallWidth, smallHeight] = [scaled(width), scaled(height)];
    const canvas = createCanvas(smallWidth, smallHeight);
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, 0, 0, smallWidth, smallHeight);
    const blob = await toBlob(canvas, mimeType);
    return { data: await encodeBlob(blob), mimeType: blob.type };
  } finally {
    bitmap.close();
  }
}

function createCanvas(width: number, height: number): HTMLCanvasElement | OffscreenCanvas {
  if (typeof OffscreenCanvas === "function") return new OffscreenCanvas(width, height);
  return Object.assign(invoke(document, "createElement", "canvas") as HTMLCanvasElement, { width, height });
}

/** A canvas produces PNG if it cannot write the type. */
function toBlob(canvas: HTMLCanvasElement | OffscreenCanvas, type: string | undefined): Promise<Blob> {
  if ("convertToBlob" in canvas) return canvas.convertToBlob({ ...(type && { type }), quality: QUALITY });
  return new Promise((resolve, reject) => {
    const finish = (blob: Blob | null) => (blob ? resolve(blob) : reject(new Error("the canvas cannot be written")));
    canvas.toBlob(finish, type, QUALITY);
  });
}

function encodeBlob(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const url = reader.result as string;
      resolve(url.slice(url.indexOf(",") + 1));
    };
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
