/** Creates the fields of a form from MCP's restricted elicitation schema. */

import { visibleText } from "../text/visible-text.ts";
import { createElement } from "./element.ts";
import { validateField } from "./field-validation.ts";
import type { FieldSchema, FormSchema } from "./schema.ts";
import type { CompleteDialogStrings } from "./strings.ts";

/** A text field with a higher maximum length has several lines. */
const LONG_TEXT_CHARS = 120;

const INPUT_TYPES: { [format: string]: string } = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** A field of the form. */
export interface Field {
  name: string;
  element: HTMLDivElement;
  /** The element that gets the focus first. */
  control: Control | undefined;
  /** Returns the value; `undefined` if the field is empty. */
  value(): unknown;
  /** Shows the error, and returns it, if any. */
  check(): string | undefined;
}

/** The data from which a field is created. */
interface FieldInfo {
  name: string;
  id: string;
  schema: FieldSchema;
  label: string;
  required: boolean;
  strings: CompleteDialogStrings;
}

/** Creates the fields, in the schema's order. */
export function createFields({ properties = {}, required = [] }: FormSchema, strings: CompleteDialogStrings): Field[] {
  return Object.entries(properties).map(([name, schema], index) => {
    const label = visibleText(schema.title ?? name);
    return createField({ name, id: `field-${index}`, schema, label, required: required.includes(name), strings });
  });
}

function createField(info: FieldInfo): Field {
  const { schema } = info;
  if (schema.type === "array") return createChoices(info);
  if (schema.type === "boolean") return createCheckbox(info);
  if (schema.enum || schema.oneOf) return createSelect(info);
  return createInput(info);
}

function createInput(info: FieldInfo): Field {
  const { schema } = info;
  const number = schema.type === "number" || schema.type === "integer";
  const long = !number && !schema.format && (schema.maxLength ?? 0) > LONG_TEXT_CHARS;
  const control = createElement(long ? "textarea" : "input", {
    ...(long ? { rows: 3 } : { type: number ? "number" : (INPUT_TYPES[schema.format ?? ""] ?? "text") }),
    ...(number && { step: schema.type === "integer" ? 1 : "any", min: schema.minimum, max: schema.maximum }),
    ...(schema.format === "date-time" && { step: 1 }),
  });
  if (schema.default !== undefined) control.value = displayValue(schema);
  const value = () => {
    // An input that the browser cannot parse has no value, but must not count as empty.
    if (control.validity.badInput) return NaN;
    if (control.value === "") return undefined;
    if (number) return Number(control.value);
    return schema.format === "date-time" ? new Date(control.value).toISOString() : control.value;
  };
  return labelField(info, control, value);
}

function displayValue({ format, default: value }: FieldSchema): string {
  const text = visibleText(String(value ?? ""));
  if (format !== "date-time") return text;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function createSelect(info: FieldInfo): Field {
  const { schema } = info;
  const control = createElement("select", {}, [
    createElement("option", { value: "" }, [info.required ? info.strings.choose : info.strings.noChoice]),
    ...listOptions(schema).map(({ title }, index) => createElement("option", { value: index }, [visibleText(title)])),
  ]);
  const chosen = listOptions(schema).findIndex(({ value }) => value === schema.default);
  control.value = chosen < 0 ? "" : String(chosen);
  return labelField(info, control, () => (control.value === "" ? undefined : listOptions(schema)[Number(control.value)]!.value));
}

function createCheckbox(info: FieldInfo): Field {
  const { id, schema, label } = info;
  const control = createElement("input", { type: "checkbox", id });
  control.checked = schema.default === true;
  const line = createElement("div", { class: "choice" }, [control, createElement("label", { for: id }, [label, requiredMark(info)])]);
  return completeField(info, [line], control, () => control.checked, control);
}

function createChoices(info: FieldInfo): Field {
  const { id, schema, label } = info;
  const defaults: unknown[] = Array.isArray(schema.default) ? schema.default : [];
  const boxes = listOptions(schema.items ?? {}).map(({ value, title }, index) => {
    const box = createElement("input", { type: "checkbox", id: `${id}-${index}` });
    box.checked = defaults.includes(value);
    return { value, box, line: createElement("div", { class: "choice" }, [box, createElement("label", { for: box.id }, [visibleText(title)])]) };
  });
  const group = createElement("fieldset", { id }, [
    createElement("legend", {}, [label, requiredMark(info)]),
    ...boxes.map(({ line }) => line),
  ]);
  const value = () => {
    const chosen = boxes.filter(({ box }) => box.checked).map(({ value }) => value);
    return chosen.length || info.required ? chosen : undefined;
  };
  return completeField(info, [group], group, value, boxes[0]?.box);
}

/** Returns the choices of a schema in any of MCP's forms. */
function listOptions({ enum: values = [], enumNames = [], oneOf, anyOf }: FieldSchema): { value: string; title: string }[] {
  const titled = oneOf ?? anyOf;
  if (titled) return titled.map(({ const: value, title = value }) => ({ value, title }));
  return values.map((value, index) => ({ value, title: enumNames[index] ?? value }));
}

function labelField(info: FieldInfo, control: Control, value: Field["value"]): Field {
  const { id, label } = info;
  control.id = id;
  if (info.required) control.setAttribute("aria-required", "true");
  return completeField(info, [createElement("label", { for: id }, [label, requiredMark(info)]), control], control, value, control);
}

/** Screen readers use `aria-required` instead. */
function requiredMark({ required }: FieldInfo): HTMLElement | undefined {
  return required ? createElement("span", { class: "required-mark", "aria-hidden": "true" }, [" *"]) : undefined;
}

/** Adds the description and the error to a field. `described` is the element that they belong to. */
function completeField(
  { name, id, schema, required, strings }: FieldInfo,
  parts: HTMLElement[],
  described: Control | HTMLFieldSetElement,
  value: Field["value"],
  control: Control | undefined,
): Field {
  const hint = schema.description && createElement("p", { id: `${id}-hint`, class: "hint" }, [visibleText(schema.description)]);
  const error = createElement("p", { id: `${id}-error`, class: "error" });
  const whole = createElement("div", { class: "field" }, [...parts, hint || undefined, error]);
  const check = () => {
    const problem = validateField(schema, value(), required, strings);
    error.textContent = problem ?? "";
    described.setAttribute("aria-invalid", String(problem !== undefined));
    const ids = [hint && hint.id, problem && error.id].filter(Boolean).join(" ");
    ids ? described.setAttribute("aria-describedby", ids) : described.removeAttribute("aria-describedby");
    return problem;
  };
  if (hint) described.setAttribute("aria-describedby", hint.id);
  // A person who corrects the value sees immediately that it is valid.
  whole.addEventListener("input", () => {
    if (described.getAttribute("aria-invalid") === "true") check();
  });
  return { name, element: whole, value, check, control };
}
