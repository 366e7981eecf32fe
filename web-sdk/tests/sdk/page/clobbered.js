/** Plain HTML that hides what a document and a form have by their prototypes: elements with names, and fields. */

/** What belongs to each document itself: no element hides it. */
const OWN = ["location"];

const namesOf = (...classes) => [...new Set(classes.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)))].filter((name) => !OWN.includes(name));

/** All that a document has, and all that a form has. */
export const DOCUMENT_NAMES = namesOf(Document, Node, EventTarget);
export const FORM_NAMES = namesOf(HTMLFormElement, HTMLElement, Element, Node, EventTarget);

/** The elements that are properties of the document by their names. */
export const KINDS = {
  img: (name) => `<img name="${name}" alt="">`,
  form: (name) => `<form name="${name}"><input type="hidden" name="frameElement"><input type="hidden" name="getComputedStyle"></form>`,
  iframe: (name) => `<iframe name="${name}" title="Empty" hidden></iframe>`,
  embed: (name) => `<embed name="${name}" hidden>`,
  object: (name) => `<object name="${name}" hidden></object>`,
};

/** Yields lists of some names: a page for each name would take minutes. */
export function* inChunks(names, size = 25) {
  for (let index = 0; index < names.length; index += size) yield names.slice(index, index + size);
}

/** Opens a page in a frame, and returns the window once the page has set a global variable. */
export async function openFrame(address, variable) {
  const frame = document.createElement("iframe");
  frame.src = address;
  document.body.append(frame);
  while (!frame.contentWindow[variable]) await new Promise((resolve) => requestAnimationFrame(resolve));
  return { frame, view: frame.contentWindow, body: frame.contentDocument.body };
}
