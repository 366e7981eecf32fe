/** Plain HTML that hides members of documents and forms: elements with names, and fields. */

/** Properties of each document itself, which elements cannot hide. */
const OWN = ["location"];

const namesOf = (...classes) => [...new Set(classes.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)))].filter((name) => !OWN.includes(name));

/** All members of a document, and all members of a form. */
export const DOCUMENT_NAMES = namesOf(Document, Node, EventTarget);
export const FORM_NAMES = namesOf(HTMLFormElement, HTMLElement, Element, Node, EventTarget);

/** The elements that become properties of the document by their names. */
export const KINDS = {
  img: (name) => `<img name="${name}" alt="">`,
  form: (name) => `<form name="${name}"><input type="hidden" name="frameElement"><input type="hidden" name="getComputedStyle"></form>`,
  iframe: (name) => `<iframe name="${name}" title="Empty" hidden></iframe>`,
  embed: (name) => `<embed name="${name}" hidden>`,
  object: (name) => `<object name="${name}" hidden></object>`,
};

/** Yields groups of names, because a page for each name would take minutes. */
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
