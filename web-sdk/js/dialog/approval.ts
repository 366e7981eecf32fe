/** The part of the dialog that shows a call, and asks whether the agent may make it. */

import { read, write } from "../dom/native.ts";
import { visibleText } from "../text/visible-text.ts";
import { createElement } from "./element.ts";
import type { ApprovalRequest, ElicitationRequest } from "./request.ts";
import type { CompleteDialogStrings } from "./strings.ts";

/** Interval at which the remaining time is updated, in milliseconds. */
const TICK_MS = 1000;

/** Shows the arguments of a call by their names. */
export function createArguments({ arguments: args }: ApprovalRequest | ElicitationRequest, strings: CompleteDialogStrings): HTMLElement {
  const values = Object.entries((args ?? {}) as object);
  if (!values.length) return createElement("p", {}, [strings.noArguments]);
  const items = values.map(([name, value]) =>
    createElement("div", { class: "field" }, [
      createElement("dt", { dir: "auto" }, [visibleText(name)]),
      createElement("dd", { class: "value", dir: "auto" }, [readableText(value)]),
    ]),
  );
  // Overflowing content can be scrolled by keyboard.
  return createElement("div", { class: "fields", role: "group", "aria-label": strings.arguments, tabindex: 0 }, [
    createElement("dl", {}, items),
  ]);
}

/** Texts are shown unchanged, and all other values as JSON. An empty text would be invisible. */
const readableText = (value: unknown): string => visibleText(typeof value === "string" && value ? value : JSON.stringify(value, null, 2));

/** Shows the remaining time while the dialog is in the document. Screen readers are not notified each second. */
export function createTimeLeft({ expiresAt }: ApprovalRequest, strings: CompleteDialogStrings): HTMLElement | undefined {
  if (expiresAt === undefined) return undefined;
  const element = createElement("footer", { id: "time", role: "timer" });
  const show = () => {
    const seconds = Math.ceil(Math.max(0, expiresAt - performance.now()) / 1000);
    write(element, "textContent", strings.timeLeft(seconds));
  };
  const timer = setInterval(() => (read(element, "isConnected") ? show() : clearInterval(timer)), TICK_MS);
  show();
  return element;
}
