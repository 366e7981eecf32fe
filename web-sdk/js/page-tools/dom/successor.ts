/** Finds the field with which a page has replaced another: a render may create its elements again while a value is set. */

import { ActionError } from "../driver.ts";
import { roleOf } from "./classify.ts";
import { fieldOf, isChecked, isField } from "./field.ts";
import { flatAncestors, flatElements, flatParent, isInPage, isUnreadable } from "./flat-tree.ts";
import { attributeOf, documentOf, hasAttribute, localNameOf, rootElementOf } from "./native.ts";
import { nameOf } from "./node.ts";
import { isPrivate } from "./shown.ts";

/** The properties by which a field is recognised after it was replaced. */
interface Identity {
  field: Element;
  role: string;
  label: string;
  /** Its ancestors, from the inside to the outside. */
  around: Element[];
  /** The elements that existed before, none of which can be the replacement. */
  known: WeakSet<Element>;
}

/** By the target of the action. */
const identities = new WeakMap<Element, Identity>();

const hasSame = (attribute: string, one: Element, other: Element): boolean => attributeOf(one, attribute) === attributeOf(other, attribute);

/** Records the identity of a target's field before any effect. */
export function noteField(target: Element, field: Element): void {
  const role = roleOf(field);
  const [, ...around] = flatAncestors(field);
  const alike = [...flatElements(rootElementOf(documentOf(field))!)].filter((one) => localNameOf(one) === localNameOf(field));
  identities.set(target, { field, role, label: nameOf(field, role), around, known: new WeakSet(alike) });
}

/**
 * Returns the current field of a target, or nothing if the page has removed it.
 *
 * @throws ActionError with `TargetStale` if several fields may be the replacement.
 */
export function currentField(target: Element): Element | undefined {
  const field = isInPage(target) ? fieldOf(target) : undefined;
  const identity = identities.get(target);
  if (field || !identity) return field;
  return isInPage(identity.field) ? identity.field : successorOf(identity);
}

function successorOf({ field, role, label, around, known }: Identity): Element | undefined {
  const container = around.find(isInPage);
  if (!container) return undefined;
  const isNew = (one: Element) => localNameOf(one) === localNameOf(field) && !known.has(one) && !isUnreadable(one) && !isPrivate(one) && isField(one) && roleOf(one) === role;
  const isLabelled = (one: Element) => nameOf(one, role) === label;
  const isInPlace = (one: Element) => around[0] === flatParent(one);
  const added = [...flatElements(container)].filter((one) => isNew(one) && (!isChecked(field) || hasSame("value", one, field)));
  const withId = attributeOf(field, "id") ? added.filter((one) => hasSame("id", one, field)) : [];
  let found = withId.length ? withId : added.filter((one) => hasSame("name", one, field));
  const isNamed = withId.length > 0 || hasAttribute(field, "name");
  if (!isNamed) found = found.filter(isLabelled);
  for (const isLike of [isLabelled, isInPlace]) if (found.length > 1 && found.some(isLike)) found = found.filter(isLike);
  const [successor] = found;
  if (found.length > 1 || (successor && !isNamed && !label && !isInPlace(successor))) {
    throw new ActionError("TargetStale", "the page replaced the field while its value was set: take a page_snapshot and look at the value");
  }
  return successor;
}
