/** DOM functions that the views share. */

import { INVISIBLE } from "./invisible.js";

/** Texts may come from an AI client, so invisible characters in them are shown as `\u{202e}`. */
const visibleText = (text) =>
  text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);

/**
 * Creates an element. Properties with a dash in their name, and `role`, are attributes; `on…` functions are listeners;
 * `dataset` is copied; all others are properties. Empty children are left out.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(element, name, value);
  const present = children.flat().filter((child) => child != null && child !== "");
  element.append(...present.map((child) => (child instanceof Node ? child : visibleText(String(child)))));
  return element;
}

function set(element, name, value) {
  if (value === undefined) return;
  if (name === "dataset") Object.assign(element.dataset, value);
  else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name.includes("-") || name === "role") element.setAttribute(name, value);
  else element[name] = value;
}

/** An icon of the page's sprite, hidden from screen readers. */
export function icon(name) {
  const SVG = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** The element with this id. It exists, because the page and its scripts come from one build. */
export const byId = (id) => document.getElementById(id);

/** Writes a text only if it differs, so that live regions announce only changes. */
export function setText(element, text) {
  const shown = visibleText(text ?? "");
  if (element.textContent !== shown) element.textContent = shown;
}

/** Runs a function that moves elements, and restores the focus afterwards. */
export function keepingFocus(move) {
  const focused = document.activeElement;
  move();
  if (focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
  }
}

/** Makes `elements` the children of `parent`; those already in place are not touched. */
export function placeChildren(parent, elements) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  elements.forEach((element, index) => {
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index]);
  });
}

export const prefersReducedMotion = () =>
  matchMedia("(prefers-reduced-motion: reduce)").matches;
