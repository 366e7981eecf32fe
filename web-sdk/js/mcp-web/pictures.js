/** Pictures no larger than the client behind a call can take. */

import { base64Of, isScalable } from "./content.js";

/** What bridges make an image of, if it is a tool's whole result. */
const PICTURE_URL = /^data:image\/[^,]*,/i;

/**
 * The blocks, their pictures made smaller where an edge is longer than the client takes. `limit`: `{ maxEdge, load }`,
 * the most pixels, if there is a most, and what loads the module that makes pictures smaller.
 */
export async function fittingBlocks(blocks, limit) {
  if (!limit.maxEdge || !blocks.some(isScalable)) return blocks;
  return Promise.all(blocks.map(async (block) => (isScalable(block) ? { ...block, ...(await smaller(block, limit)) } : block)));
}

/** The same for a plain value: a data URL, or an object that has one in `dataUrl`. */
export async function fittingValue(value, limit) {
  const url = value?.dataUrl ?? value;
  if (!limit.maxEdge || typeof url !== "string" || !PICTURE_URL.test(url)) return value;
  const picture = await smaller(url, limit);
  if (!picture) return value;
  const dataUrl = `data:${picture.mimeType};base64,${picture.data}`;
  return url === value ? dataUrl : { ...value, dataUrl };
}

/** Nothing if it is small enough, or cannot be made smaller: it is sent as it is then. */
async function smaller(source, { maxEdge, load }) {
  try {
    const { scaledDown } = await load();
    const { data, mimeType } = base64Of(source);
    return await scaledDown(data, mimeType, maxEdge);
  } catch {
    return undefined;
  }
}
