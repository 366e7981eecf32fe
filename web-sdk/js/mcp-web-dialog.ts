/**
 * Asks the user of the page: in place of the client (MCP elicitation) with a form or an address to visit, or whether the
 * agent may make a call.
 *
 * The dialog lives in a shadow root with a constructed style sheet: neither the app's styles nor its
 * Content-Security-Policy apply to it.
 */

import type { ElicitAnswer } from "./types/calls.ts";
import { createArguments, createTimeLeft } from "./dialog/approval.ts";
import { createElement } from "./dialog/element.ts";
import { createFields } from "./dialog/fields.ts";
import type { ApprovalRequest, DialogApp, DialogRequest, ElicitationRequest } from "./dialog/request.ts";
import type { FormSchema } from "./dialog/schema.ts";
import { completeStrings, type Strings } from "./dialog/strings.ts";
import { styles } from "./dialog/styles.ts";

type Answer = ElicitAnswer<object> | { action: "accept" };

/** Ends the dialog with an answer. */
type Done = (answer: Answer) => void;

/** Dialogs are shown one after the other. */
let previous: Promise<unknown> = Promise.resolve();

/**
 * Returns the MCP elicitation result; that of a call is `accept` if it is allowed. Rejected with the signal's reason when
 * that fires.
 */
export function elicit(request: DialogRequest, signal: AbortSignal): Promise<ElicitAnswer<object>> {
  const answer = previous.then(() => showDialog(request, signal));
  previous = answer.catch(() => {});
  return answer as Promise<ElicitAnswer<object>>;
}

function showDialog(request: DialogRequest, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted();
  const focused = document.activeElement as HTMLElement | null;
  const host = createElement("div", { "data-mcp-web": "tool" in request ? "approval" : "elicitation" });
  // A page that has no colour scheme of its own gets the one that the person prefers.
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  host.style.colorScheme = !scheme || scheme === "normal" ? "light dark" : scheme;
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [styles()];
  return new Promise((resolve, reject) => {
    const finish = <Value>(settle: (value: Value) => void, value: Value) => {
      signal.removeEventListener("abort", cancelled);
      dialog.close();
      host.remove();
      if (document.activeElement !== focused) focused?.focus?.({ preventScroll: true });
      settle(value);
    };
    const cancelled = () => finish(reject, signal.reason);
    const done: Done = (result) => finish(resolve, result);
    const dialog = "tool" in request ? createApproval(request, done) : createElicitation(request, done);
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      done({ action: "cancel" });
    });
    signal.addEventListener("abort", cancelled);
    root.append(dialog);
    document.body.append(host);
    dialog.showModal();
  });
}

function createElicitation(
  { message, schema, url, asker, appName, strings: given }: ElicitationRequest & DialogApp,
  done: Done,
): HTMLDialogElement {
  const strings = completeStrings(given);
  const part = url ? createVisit(String(url), strings, done) : createForm(schema as FormSchema, strings, done);
  return createElement("dialog", { "aria-labelledby": "title", "aria-describedby": "message" }, [
    createElement("header", {}, [
      createElement("h2", { id: "title" }, [strings.title(asker)]),
      createButton("×", { class: "close", "aria-label": strings.cancel }, () => done({ action: "cancel" })),
    ]),
    createElement("p", { id: "message" }, [message]),
    part,
    createElement("footer", {}, [strings.recipient(asker, appName)]),
  ]);
}

/** Nothing but the button allows the call, and the other one has the focus: keys that were meant for the page do no harm. */
function createApproval(request: ApprovalRequest & DialogApp, done: Done): HTMLDialogElement {
  const { tool, source, appName } = request;
  const strings = completeStrings(request.strings);
  return createElement("dialog", { role: "alertdialog", "aria-labelledby": "title", "aria-describedby": "message time" }, [
    createElement("header", {}, [createElement("h2", { id: "title" }, [strings.approval(strings.tool(tool, source))])]),
    createElement("p", { id: "message" }, [source === undefined ? strings.pageTool(appName) : strings.sourceTool(source)]),
    createArguments(request, strings),
    createElement("div", { class: "buttons" }, [
      createButton(strings.deny, { autofocus: "" }, () => done({ action: "decline" })),
      createButton(strings.approve, { class: "accept" }, () => done({ action: "accept" })),
    ]),
    createTimeLeft(request, strings),
  ]);
}

function createForm(schema: FormSchema, strings: Strings, done: Done): HTMLFormElement {
  const fields = createFields(schema, strings);
  fields[0]?.control?.setAttribute("autofocus", "");
  const form = createElement("form", { novalidate: "" }, [
    createElement("div", { class: "fields" }, fields.map((field) => field.element)),
    createButtons(strings.send, strings, done),
  ]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // All fields show what is wrong with them.
    const [invalid] = fields.filter((field) => field.check());
    if (invalid) return invalid.control?.focus();
    const values = fields.map(({ name, value }) => [name, value()]).filter(([, value]) => value !== undefined);
    done({ action: "accept", content: Object.fromEntries(values) });
  });
  return form;
}

/** The whole address is shown: the person decides by it. */
function createVisit(url: string, strings: Strings, done: Done): HTMLFormElement {
  const form = createElement("form", {}, [
    createElement("p", { class: "url" }, [url]),
    createButtons(strings.open(new URL(url).host), strings, done),
  ]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    window.open(url, "_blank", "noopener,noreferrer");
    done({ action: "accept" });
  });
  return form;
}

function createButtons(accept: string, strings: Strings, done: Done): HTMLElement {
  return createElement("div", { class: "buttons" }, [
    createButton(strings.decline, {}, () => done({ action: "decline" })),
    createElement("button", { type: "submit", class: "accept" }, [accept]),
  ]);
}

function createButton(text: string, attributes: object, onClick: () => void): HTMLButtonElement {
  const button = createElement("button", { type: "button", ...attributes }, [text]);
  button.addEventListener("click", onClick);
  return button;
}
