/** Limits images to the size that the client of a call accepts. */

import type { ContentBlock } from "../types/content.ts";
import { encodeBase64, isScalable } from "./content.ts";
import { isObject } from "./type-guards.ts";

/** Maximum length of an edge in pixels, if there is a limit, and the loader of the module that scales images. */
export interface ImageLimit {
  maxEdge: number | undefined;
  load(): Promise<typeof import("../mcp-web-images.ts")>;
}

/** Returns a tool's blocks with images that are small enough. */
export async function scaleBlocks(blocks: ContentBlock[], limit: ImageLimit): Promise<ContentBlock[]> {
  const images = blocks.some(isScalable) && (await loadScaler(limit));
  return images ? images.scaleBlocks(blocks, limit.maxEdge!, encodeBase64, isScalable) : blocks;
}

/** Scales a plain value, which is an image if it is a data URL, or has one in `dataUrl`. */
export async function scaleValue(value: unknown, limit: ImageLimit): Promise<unknown> {
  const url = isObject(value) && "dataUrl" in value ? value.dataUrl : value;
  const images = typeof url === "string" && /^data:image\//i.test(url) && (await loadScaler(limit));
  return images ? images.scaleValue(value, limit.maxEdge!, encodeBase64) : value;
}

/** An image is sent unchanged if the module cannot be loaded. */
async function loadScaler({ maxEdge, load }: ImageLimit) {
  return maxEdge ? load().catch(() => undefined) : undefined;
}
