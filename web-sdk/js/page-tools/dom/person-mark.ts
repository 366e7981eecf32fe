/** The mark of elements that are reserved for the person. */

import { hasAttribute, localNameOf } from "./native.ts";

/** Returns whether an element is the outermost one of a part that is reserved for the person. */
export const isPersonOnly = (element: Element): boolean => hasAttribute(element, "data-mcp-person") || localNameOf(element) === "mcp-web-ask";
