/** Methods of elements that an action may call. */

import { read } from "../../dom/native.ts";
import { ActionError } from "../driver.ts";
import { dispatch } from "./dispatch.ts";
import { is } from "./flat-tree.ts";
import { requestSubmit } from "./submit.ts";

/** The methods, and the elements that have each of them. */
const METHODS = ["reset", "requestSubmit", "stepUp", "stepDown", "play", "pause", "show", "showModal", "close", "showPopover", "hidePopover", "scrollIntoView", "select"];

/** Returns the object that has a method: the element, or its form. */
export function methodTargetOf(element: Element, name: string): Element | undefined {
  const form = read(element as HTMLInputElement, "form") ?? undefined;
  return METHODS.includes(name) ? [element, form].find((one) => one && methodOf(one, name)) : undefined;
}

/** Calls a method of an element, or of its form if only the form has it. */
export async function callMethod(element: Element, name: string, args: unknown[], signal: AbortSignal): Promise<void> {
  const target = methodTargetOf(element, name);
  if (!target) {
    const own = METHODS.filter((one) => methodOf(element, one));
    throw new ActionError("MethodUnknown", `this element has no method ${JSON.stringify(name)} that can be called: use one of ${own.join(", ")}`);
  }
  if (name === "requestSubmit") return requestSubmit(target as HTMLFormElement);
  const before = read(target as HTMLInputElement, "value");
  await settled(Reflect.apply(methodOf(target, name)!, target, name === "scrollIntoView" ? [{ block: "center", behavior: "instant" }] : args), signal);
  if (is(target, "input") && target.value !== before) {
    dispatch(target, "input");
    dispatch(target, "change");
  }
}

/** Returns a method of the element's class, because a field of a form may have its name. */
function methodOf(element: Element, name: string): Function | undefined {
  for (let prototype = Object.getPrototypeOf(element); prototype; prototype = Object.getPrototypeOf(prototype)) {
    const value = Object.getOwnPropertyDescriptor(prototype, name)?.value;
    if (typeof value === "function") return value;
  }
  return undefined;
}

/** Waits for the result of a method, such as the promise of `play`, or until the action is cancelled. */
async function settled(result: unknown, signal: AbortSignal): Promise<void> {
  if (!(result instanceof Promise || typeof (result as PromiseLike<unknown> | undefined)?.then === "function")) return;
  const end = new AbortController();
  const cancelled = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { signal: end.signal }));
  try {
    await Promise.race([result, cancelled]);
  } finally {
    end.abort();
  }
}
