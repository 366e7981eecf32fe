/** Animates cards from their old positions to their new ones. */

import { prefersReducedMotion } from "./dom.js";

/** @param {Iterable<Element>} elements */
export function whereAre(elements) {
  return new Map([...elements].map((element) => [element, element.getBoundingClientRect()]));
}

/** Animates each element from its old position to its current one. @param {ReturnType<typeof whereAre>} before */
export function slideFrom(before) {
  if (prefersReducedMotion()) return;
  for (const [element, old] of before) {
    if (!element.isConnected) continue;
    const now = element.getBoundingClientRect();
    const x = old.left - now.left;
    const y = old.top - now.top;
    if (x === 0 && y === 0) continue;
    element.animate(
      [{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }],
      { duration: 320, easing: "cubic-bezier(.2, .8, .2, 1)" },
    );
  }
}
