/** The values of controls. */

import { is } from "./flat-tree.ts";

/** What is shown of a password. */
export const HIDDEN = "(hidden)";

/** Types of `input` whose state is `checked`, or that are buttons. */
const WITHOUT_VALUE = /^(checkbox|radio|button|submit|reset|image|hidden)$/;

/** Returns the value of a control, as its page shows it; `undefined` of what has none. */
export function valueOf(element: Element, role: string): string | string[] | undefined {
  if (is(element, "select")) {
    const labels = [...element.selectedOptions].map((option) => option.label || option.text);
    return element.multiple ? labels : (labels[0] ?? "");
  }
  if (is(element, "input", "textarea")) return inputValue(element);
  if (is(element, "meter")) return String(element.value);
  if (is(element, "progress")) return element.position === -1 ? undefined : String(element.value);
  switch (role) {
    case "textbox":
    case "searchbox":
    case "combobox":
      return editableText(element);
    case "spinbutton":
    case "slider":
    case "scrollbar":
    case "progressbar":
    case "meter":
      return element.getAttribute("aria-valuetext") ?? element.getAttribute("aria-valuenow") ?? undefined;
    default:
      return undefined;
  }
}

function inputValue(element: HTMLInputElement | HTMLTextAreaElement): string | string[] | undefined {
  if (is(element, "input")) {
    if (WITHOUT_VALUE.test(element.type)) return undefined;
    if (element.type === "password") return element.value && HIDDEN;
    if (element.type === "file") {
      const names = [...(element.files ?? [])].map(({ name }) => name);
      return element.multiple ? names : (names[0] ?? "");
    }
  }
  return element.value;
}

/** Returns the text of an editable element, lines as lines. */
export function editableText(element: Element): string {
  const text = (element as HTMLElement).innerText ?? element.textContent ?? "";
  return text.replaceAll("\u00a0", " ").replaceAll("\u200b", "").replaceAll("\ufeff", "").replace(/\n{2,}/g, "\n").trim();
}
