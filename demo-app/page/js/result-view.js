/** Shows the result of a handler in the log: JSON, with pictures as pictures. */

import { h } from "./dom.js";
import { jsonView } from "./json-view.js";

/** @returns {HTMLElement[]} */
export function resultView(result) {
  const parts = Array.isArray(result) ? result : [result];
  if (!parts.some(isPicture)) return [jsonView(result)];
  return parts.map((part) => (isPicture(part) ? pictureView(part) : jsonView(part)));
}

const isPicture = (value) => value instanceof OffscreenCanvas;

/** A copy, because the log outlives the picture. */
function pictureView(picture) {
  const { width, height } = picture;
  const canvas = h("canvas", { width, height, className: "call-picture", role: "img", "aria-label": "The picture that was returned" });
  canvas.getContext("2d").drawImage(picture, 0, 0);
  return canvas;
}
