/**
 * Asks the user of the page: instead of the client (MCP elicitation), with a form or an address to visit, or whether the
 * agent may make a call. `person/surface.ts` shows the dialog, and decides which events count as an answer.
 */

import type { ElicitAnswer } from "./types/calls.ts";
import { createArguments, createTimeLeft } from "./dialog/approval.ts";
import { createElement } from "./dialog/element.ts";
import { createFields } from "./dialog/fields.ts";
import type { ApprovalRequest, DialogApp, DialogRequest, ElicitationRequest } from "./dialog/request.ts";
import type { FormSchema } from "./dialog/schema.ts";
import { completeStrings, type CompleteDialogStrings } from "./dialog/strings.ts";
import { CSS } from "./dialog/styles.ts";
import { askPerson, type Surface } from "./person/surface.ts";
import { visibleText } from "./text/visible-text.ts";

type Answer = ElicitAnswer<object>;
type AnswerSurface = Surface<Answer>;

/** An accepted call or address has no content. */
const accept = (content?: object): Answer => ({ action: "accept", ...(content && { content }) }) as Answer;

/**
 * Returns the MCP elicitation result; for a call it is `accept` if the call is allowed. Rejected with the signal's reason
 * when the signal fires.
 */
export function elicit(given: DialogRequest, signal: AbortSignal): Promise<Answer> {
  const request = visibleRequest(given);
  const strings = completeStrings(request.strings);
  const isApproval = "expiresAt" in request;
  return askPerson<Answer>(
    {
      text: isApproval ? strings.approval(strings.tool(request.tool, request.source)) : strings.title(request.asker),
      kind: isApproval ? "approval" : "elicitation",
      css: CSS,
      create: (surface) => (isApproval ? createApproval(request, strings, surface) : createElicitation(request, strings, surface)),
      cancelled: { action: "cancel" },
      frame: { explanation: strings.framed, open: strings.openWindow, decline: isApproval ? strings.deny : strings.decline },
    },
    signal,
  );
}

/** Makes invisible characters in texts of others visible. Arguments and fields do this themselves. */
function visibleRequest(request: DialogRequest): DialogRequest {
  const shown = { ...request } as { [field: string]: unknown };
  for (const name of ["message", "asker", "tool", "source"]) {
    if (typeof shown[name] === "string") shown[name] = visibleText(shown[name]);
  }
  return shown as unknown as DialogRequest;
}

function createElicitation(request: ElicitationRequest & DialogApp, strings: CompleteDialogStrings, surface: AnswerSurface): HTMLDialogElement {
  const { message, schema, url, asker, appName, tool } = request;
  const parts = url ? createVisit(String(url), strings, surface) : createForm(schema as FormSchema, strings, surface);
  return createElement("dialog", { "aria-labelledby": "title", "aria-describedby": "message" }, [
    createElement("header", {}, [
      createElement("h2", { id: "title" }, [strings.title(asker)]),
      surface.refuseButton("×", { class: "close", "aria-label": strings.cancel }, { action: "cancel" }),
    ]),
    createElement("p", { id: "message" }, [message]),
    ...parts,
    tool === undefined
      ? undefined
      : createElement("details", {}, [createElement("summary", {}, [strings.askingTool(strings.tool(tool))]), createArguments(request, strings)]),
    createElement("footer", {}, [strings.recipient(asker, appName)]),
  ]);
}

/** Only the button allows the call, and the other one has the focus, so that keys meant for the page do no harm. */
function createApproval(request: ApprovalRequest & DialogApp, strings: CompleteDialogStrings, surface: AnswerSurface): HTMLDialogElement {
  const { tool, source, appName } = request;
  return createElement("dialog", { role: "alertdialog", "aria-labelledby": "title", "aria-describedby": "message time" }, [
    createElement("header", {}, [createElement("h2", { id: "title" }, [strings.approval(strings.tool(tool, source))])]),
    createElement("p", { id: "message" }, [source === undefined ? strings.pageTool(appName) : strings.sourceTool(source)]),
    createArguments(request, strings),
    createElement("div", { class: "buttons" }, [
      surface.refuseButton(strings.deny, { autofocus: "" }, { action: "decline" }),
      surface.answerButton(strings.approve, { class: "accept" }, () => accept()),
    ]),
    createTimeLeft(request, strings),
  ]);
}

function createForm(schema: FormSchema, strings: CompleteDialogStrings, surface: AnswerSurface): HTMLElement[] {
  const fields = createFields(schema, strings);
  fields[0]?.control?.setAttribute("autofocus", "");
  const answer = () => {
    // All fields show their errors.
    const [invalid] = fields.filter((field) => field.check());
    if (invalid) return void invalid.control?.focus();
    const values = fields.map(({ name, value }) => [name, value()]).filter(([, value]) => value !== undefined);
    return accept(Object.fromEntries(values));
  };
  const send = surface.answerButton(strings.send, { class: "accept" }, answer);
  for (const { element } of fields) {
    for (const input of element.querySelectorAll("input")) surface.answersByEnter(input, send, answer);
  }
  return [
    createElement("div", { class: "fields" }, fields.map((field) => field.element)),
    createButtons(send, strings, surface),
  ];
}

/** The whole address is shown, because the person decides based on it. */
function createVisit(url: string, strings: CompleteDialogStrings, surface: AnswerSurface): HTMLElement[] {
  const open = surface.answerButton(strings.open(new URL(url).host), { class: "accept" }, () => {
    window.open(url, "_blank", "noopener,noreferrer");
    return accept();
  });
  return [createElement("p", { class: "url" }, [url]), createButtons(open, strings, surface)];
}

const createButtons = (answer: HTMLElement, strings: CompleteDialogStrings, surface: AnswerSurface): HTMLElement =>
  createElement("div", { class: "buttons" }, [surface.refuseButton(strings.decline, {}, { action: "decline" }), answer]);
