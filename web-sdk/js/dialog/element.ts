/** Creates elements. */

import { invoke } from "../dom/native.ts";

/** A child of an element; missing ones are left out. */
type Child = Node | string | undefined;

/** Creates an element. Text remains text: nothing that a client or app passes is parsed as HTML. */
export function createElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: { [attribute: string]: unknown } = {},
  children: Child[] = [],
): HTMLElementTagNameMap[Name] {
  const element = invoke(document, "createElement", name) as HTMLElementTagNameMap[Name];
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined) invoke(element as HTMLElement, "setAttribute", attribute, String(value));
  }
  invoke(element as HTMLElement, "append", ...children.filter((child) => child !== undefined));
  return element;
}
