/**
 * The rule for all effects of actions: AI clients must not use elements that are private, reserved for the person, or
 * outside of the root.
 */

import { ActionError } from "../driver.ts";
import { isOutside } from "./look.ts";
import { hasPrivateInside } from "./private-content.ts";
import { isPrivate } from "./shown.ts";

/** An element that an action affects. */
export interface AffectedElement {
  element: Element;
  /** Whether the element is used, and not only changed by a used one. If so, the app is also asked about it. */
  isUsed?: boolean;
  /** Whether its whole content is changed. */
  isWhole?: boolean;
}

/** Returns whether an action must not affect an element. */
export const isForbidden = ({ element, isWhole }: AffectedElement): boolean => isPrivate(element) || isOutside(element) || (!!isWhole && hasPrivateInside(element));

/**
 * Checks that all elements may be affected. The page may have changed since the target was inspected.
 *
 * @throws ActionError if one may not.
 */
export function refuseForbidden(effects: readonly AffectedElement[]): void {
  if (effects.some(isForbidden)) throw new ActionError("TargetPrivate", "this acts on something private by now, or outside of the root: ask the user to do it in the page");
}
