/** What AI clients may not use: what is private, only for the person, or outside of the root. */

import { ActionError } from "../driver.ts";
import { isOutside } from "./look.ts";
import { hasPrivateInside } from "./private-content.ts";
import { isPrivate } from "./shown.ts";

/** Something that is acted upon. */
export interface Affected {
  element: Element;
  /** Whether the element is used, and not only changed by what is used: the app is asked for it, too. */
  isUsed?: boolean;
  /** Whether all that is in it is changed. */
  isWhole?: boolean;
}

/** Whether something must not be acted upon. */
export const isKept = ({ element, isWhole }: Affected): boolean => isPrivate(element) || isOutside(element) || (!!isWhole && hasPrivateInside(element));

/**
 * Does nothing if all elements may be acted upon. The page may have changed since the target was looked at.
 *
 * @throws ActionError if one may not.
 */
export function refuseKept(affected: readonly Affected[]): void {
  if (affected.some(isKept)) throw new ActionError("TargetPrivate", "this acts on something private by now, or outside of the root: ask the user to do it in the page");
}
