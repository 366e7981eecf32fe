/**
 * Asks the user of the page in place of the client (MCP elicitation): a form, or an address to visit.
 *
 * The dialog lives in a shadow root with a constructed style sheet: neither the app's styles nor its
 * Content-Security-Policy touch it.
 */

import { element } from "./dialog/element.js";
import { fieldsOf } from "./dialog/fields.js";
import { styles } from "./dialog/styles.js";

/** Dialogs come one after the other. */
let former = Promise.resolve();

/**
 * Resolves to the MCP elicitation result; rejected with the signal's reason when that fires.
 * `request`: `{ message, schema | url, asker, appName }`.
 */
export function elicit(request, signal) {
  const answer = former.then(() => ask(request, signal));
  former = answer.catch(() => {});
  return answer;
}

function ask(request, signal) {
  signal.throwIfAborted();
  const focused = document.activeElement;
  const host = element("div", { "data-mcp-web": "elicitation" });
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [styles()];
  return new Promise((resolve, reject) => {
    const finish = (settle, value) => {
      signal.removeEventListener("abort", cancelled);
      dialog.close();
      host.remove();
      if (document.activeElement !== focused) focused?.focus?.({ preventScroll: true });
      settle(value);
    };
    const cancelled = () => finish(reject, signal.reason);
    const dialog = dialogFor(request, (result) => finish(resolve, result));
    signal.addEventListener("abort", cancelled);
    root.append(dialog);
    document.body.append(host);
    dialog.showModal();
  });
}

function dialogFor({ message, schema, url, asker, appName }, done) {
  const part = url ? visit(url, done) : form(schema, done);
  const dialog = element("dialog", { "aria-labelledby": "title", "aria-describedby": "message" }, [
    element("header", {}, [
      element("h2", { id: "title" }, [`${asker} asks`]),
      button("×", { class: "close", "aria-label": "Cancel" }, () => done({ action: "cancel" })),
    ]),
    element("p", { id: "message" }, [message]),
    part,
    element("footer", {}, [`Your answer goes to ${asker} through ${appName}.`]),
  ]);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    done({ action: "cancel" });
  });
  return dialog;
}

function form(schema, done) {
  const fields = fieldsOf(schema);
  fields[0]?.focused?.setAttribute("autofocus", "");
  const form = element("form", { novalidate: "" }, [
    element("div", { class: "fields" }, fields.map((field) => field.element)),
    buttons("Send", done),
  ]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wrong = fields.filter((field) => field.check());
    if (wrong.length) return wrong[0].focused?.focus();
    const values = fields.map(({ name, value }) => [name, value()]).filter(([, value]) => value !== undefined);
    done({ action: "accept", content: Object.fromEntries(values) });
  });
  return form;
}

/** The whole address is shown: the person decides by it. */
function visit(url, done) {
  const form = element("form", {}, [
    element("p", { class: "url" }, [url]),
    buttons(`Open ${new URL(url).host || "it"}`, done),
  ]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    window.open(url, "_blank", "noopener,noreferrer");
    done({ action: "accept" });
  });
  return form;
}

function buttons(accept, done) {
  return element("div", { class: "buttons" }, [
    button("Decline", {}, () => done({ action: "decline" })),
    element("button", { type: "submit", class: "accept" }, [accept]),
  ]);
}

function button(text, attributes, clicked) {
  const made = element("button", { type: "button", ...attributes }, [text]);
  made.addEventListener("click", clicked);
  return made;
}
