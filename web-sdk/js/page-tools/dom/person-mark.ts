/** The mark of what only the person uses. */

import { hasAttribute, localNameOf } from "./native.ts";

/** Whether an element is the outermost one of something that only the person uses. */
export const isPersonOnly = (element: Element): boolean => hasAttribute(element, "data-mcp-person") || localNameOf(element) === "mcp-web-ask";
