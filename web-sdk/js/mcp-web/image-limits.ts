/** Pictures no larger than the client behind a call can take. */

import { base64Of, isScalable } from "./content.js";

/**
 * A tool's blocks with small enough pictures. `limit`: `{ maxEdge, load }`, the most pixels of an edge, if there is a
 * most, and what loads the module that makes pictures smaller.
 */
export const fittingBlocks = (blocks, limit) => (blocks.some(isScalable) ? fitting("blocks", blocks, limit) : blocks);

/** A plain value, which is a picture if it is a data URL, or has one in `dataUrl`. */
export function fittingValue(value, limit) {
  const url = value?.dataUrl ?? value;
  return typeof url === "string" && /^data:image\//i.test(url) ? fitting("value", value, limit) : value;
}

async function fitting(what, result, { maxEdge, load }) {
  if (!maxEdge) return result;
  const images = await load().catch(() => undefined);
  return images ? images[what](result, maxEdge, base64Of, isScalable) : result;
}
