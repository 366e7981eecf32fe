/** The rule for all effects of actions: AI clients must not use elements that are private, only for the person, or outside of the root. */

import { ActionError } from "../driver.ts";
import { isOutside } from "./look.ts";
import { hasPrivateInside } from "./private-content.ts";
import { isPrivate } from "./shown.ts";

/** An element that an action acts upon. */
export interface AffectedElement {
  element: Element;
  /** Whether the element is used, and not only changed by what is used: the app is asked for it, too. */
  isUsed?: boolean;
  /** Whether all that is in it is changed. */
  isWhole?: boolean;
}

/** Returns whether an element must not be acted upon. */
export const isForbidden = ({ element, isWhole }: AffectedElement): boolean => isPrivate(element) || isOutside(element) || (!!isWhole && hasPrivateInside(element));

/**
 * Does nothing if all elements may be acted upon. The page may have changed since the target was looked at.
 *
 * @throws ActionError if one may not.
 */
export function refuseForbidden(effects: readonly AffectedElement[]): void {
  if (effects.some(isForbidden)) throw new ActionError("TargetPrivate", "this acts on something private by now, or outside of the root: ask the user to do it in the page");
}
