/** Reads the values of controls. */

import { is } from "./flat-tree.ts";
import { attributeOf, textContentOf } from "./native.ts";
import { hasPrivateInside } from "./private-content.ts";
import { publicLines } from "./public-text.ts";
import { isSecret } from "./secret.ts";
import { labelOfOption, publicOptions } from "./select-options.ts";

/** The displayed text of a secret. */
export const HIDDEN = "(hidden)";

/** Types of `input` whose state is `checked`, or that are buttons. */
const WITHOUT_VALUE = /^(checkbox|radio|button|submit|reset|image)$/;

/** Returns the value of a control as its page shows it; `undefined` if it has none. */
export function valueOf(element: Element, role: string): string | string[] | undefined {
  if (is(element, "select")) {
    const labels = publicOptions(element.selectedOptions).map(labelOfOption);
    return element.multiple ? labels : (labels[0] ?? (element.selectedOptions.length ? undefined : ""));
  }
  if (isSecret(element)) return (is(element, "input", "textarea") ? element.value : textContentOf(element)!) && HIDDEN;
  if (is(element, "input", "textarea")) return inputValue(element);
  if (is(element, "meter")) return String(element.value);
  if (is(element, "progress")) return element.position === -1 ? undefined : String(element.value);
  switch (role) {
    case "textbox":
    case "searchbox":
    case "combobox":
      return editableText(element) || (hasPrivateInside(element) ? undefined : "");
    case "spinbutton":
    case "slider":
    case "scrollbar":
    case "progressbar":
    case "meter":
      return attributeOf(element, "aria-valuetext") ?? attributeOf(element, "aria-valuenow") ?? undefined;
    default:
      return undefined;
  }
}

function inputValue(element: HTMLInputElement | HTMLTextAreaElement): string | string[] | undefined {
  if (is(element, "input")) {
    if (WITHOUT_VALUE.test(element.type)) return undefined;
    if (element.type === "file") {
      const names = [...(element.files ?? [])].map(({ name }) => name);
      return element.multiple ? names : (names[0] ?? "");
    }
  }
  return element.value;
}

/** Returns the text of an editable element with its lines, without its private content. */
export const editableText = publicLines;
