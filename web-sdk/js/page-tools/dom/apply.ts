/** Performs one action: selects the function for it, and passes its inputs. */

import { whenAnswered } from "../../person/tab.ts";
import type { Action } from "../actions.ts";
import { ActionError } from "../driver.ts";
import { effectsOf } from "./action-effects.ts";
import type { Clock } from "./clock.ts";
import { DEFAULT_STEPS, drag } from "./drag.ts";
import { triggerEvent } from "./events.ts";
import { centreOf, surfaceOf } from "./hit.ts";
import { refuseForbidden } from "./permission.ts";
import { pressKey } from "./keys.ts";
import { look } from "./look.ts";
import { callMethod } from "./methods.ts";
import { openPage } from "./navigate.ts";
import type { PageToolsOptions } from "../options.ts";
import type { Pointer } from "./pointer.ts";
import { publicText } from "./public-text.ts";
import { waitForChange } from "./rest.ts";
import { scroll } from "./scroll.ts";
import { setValue } from "./set-value.ts";

/** The inputs of actions besides their target. */
export interface Parts {
  root: Element;
  options: PageToolsOptions;
  clock: Clock;
  pointer: Pointer;
  warn(text: string): void;
}

/** The default duration of `waitFor`. */
const DEFAULT_WAIT_MS = 10_000;

/** Performs an action on an element. @throws ActionError with advice. */
export async function applyAction(action: Action, element: Element | undefined, to: Element | undefined, parts: Parts, signal: AbortSignal): Promise<void> {
  const { pointer, options, root } = parts;
  const target = () => {
    if (element) return element;
    throw new ActionError("TargetNotFound", `${action.type} needs a target: give ref or find`);
  };
  look(root, () => refuseForbidden(effectsOf(action, element, to)));
  switch (action.type) {
    case "setValue":
      return setValue(target(), action.value, pointer);
    case "triggerEvent":
      return triggerEvent(target(), action.event, pointer, parts.warn);
    case "callMethod":
      return callMethod(target(), action.method, action.args ?? [], signal);
    case "pressKey":
      return pressKey(element, action.key, action.modifiers);
    case "hover": {
      const surface = surfaceOf(target());
      return pointer.moveTo(surface, centreOf(surface));
    }
    case "scroll":
      if (!scroll(element ?? root, action.deltaX, action.deltaY)) parts.warn("nothing has moved: it is at its end, or does not scroll");
      return undefined;
    case "drag":
      if (!to) throw new ActionError("TargetNotFound", "drag needs a target to drag to: give to");
      return drag(target(), to, action.steps ?? DEFAULT_STEPS, parts.pointer, parts.clock, signal);
    case "setState":
      return setState(action, options, signal);
    case "setGlobal":
      if (!options.setGlobal) throw unsupported("setGlobal");
      return void (await options.setGlobal(action.key, action.value));
    case "navigate":
      return openPage(action.pageId, action.input, root, options, pointer);
    case "waitFor":
      return waitFor(action, parts, signal);
    default:
      action satisfies never;
  }
}

async function setState({ key, value, values }: Action & { type: "setState" }, { setState: set }: PageToolsOptions, signal: AbortSignal): Promise<void> {
  if (!set) throw unsupported("setState");
  const entries = values ? Object.entries(values) : key === undefined ? [] : [[key, value] as const];
  for (const [name, one] of entries) {
    await whenAnswered(signal);
    signal.throwIfAborted();
    await set(name, one);
  }
}

const unsupported = (type: string): ActionError => new ActionError("ActionUnsupported", `this page does not take ${type}: use setValue on its fields`);

/** Waits until a text appears or disappears, or only for a given time. */
async function waitFor({ text, gone, ms = DEFAULT_WAIT_MS }: Action & { type: "waitFor" }, { root, clock }: Parts, signal: AbortSignal): Promise<void> {
  const has = (wanted: string) => look(root, () => publicText([root])).toLowerCase().includes(wanted.toLowerCase());
  const isDone = () => (text === undefined || has(text)) && (gone === undefined || !has(gone));
  if (text === undefined && gone === undefined) return clock.sleep(ms, signal);
  const until = performance.now() + ms;
  while (!isDone()) {
    const left = until - performance.now();
    if (left <= 0) throw new ActionError("ActionTimeout", `the page has not changed so within ${ms} ms: take a page_snapshot, and see what it shows`);
    await waitForChange(root, clock, 0, left, signal);
  }
}
