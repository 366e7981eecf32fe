/** From MCP's restricted elicitation schema to fields of a form. */

import { element } from "./element.js";
import { fault } from "./faults.js";

/** Text that may be longer than this gets several lines. */
const LONG_TEXT_CHARS = 120;

const INPUT_TYPES = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

/**
 * Fields in the schema's order: `{ name, element, value(), check(), focused }`. `check` returns what is wrong, if
 * anything is; `focused` is where a person begins.
 */
export function fieldsOf({ properties = {}, required = [] }) {
  return Object.entries(properties).map(([name, schema], index) => {
    const facts = { name, id: `field-${index}`, schema, label: schema.title ?? name, required: required.includes(name) };
    return fieldOf(facts);
  });
}

function fieldOf(facts) {
  const { schema } = facts;
  if (schema.type === "array") return choices(facts);
  if (schema.type === "boolean") return checkbox(facts);
  if (schema.enum || schema.oneOf) return select(facts);
  return input(facts);
}

function input(facts) {
  const { schema } = facts;
  const number = schema.type === "number" || schema.type === "integer";
  const long = !number && !schema.format && schema.maxLength > LONG_TEXT_CHARS;
  const control = element(long ? "textarea" : "input", {
    ...(long ? { rows: 3 } : { type: number ? "number" : (INPUT_TYPES[schema.format] ?? "text") }),
    ...(number && { step: schema.type === "integer" ? 1 : "any", min: schema.minimum, max: schema.maximum }),
    ...(schema.format === "date-time" && { step: 1 }),
  });
  if (schema.default !== undefined) control.value = shown(schema);
  const value = () => {
    // What a person typed and a browser cannot read has no value: it must not pass for nothing.
    if (control.validity.badInput) return NaN;
    if (control.value === "") return undefined;
    if (number) return Number(control.value);
    return schema.format === "date-time" ? new Date(control.value).toISOString() : control.value;
  };
  return labelled(facts, control, value);
}

function shown({ format, default: value }) {
  if (format !== "date-time") return value;
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function select(facts) {
  const { schema } = facts;
  const control = element("select", {}, [
    element("option", { value: "" }, [facts.required ? "Choose …" : "No choice"]),
    ...optionsOf(schema).map(({ title }, index) => element("option", { value: index }, [title])),
  ]);
  const chosen = optionsOf(schema).findIndex(({ value }) => value === schema.default);
  control.value = chosen < 0 ? "" : chosen;
  return labelled(facts, control, () => (control.value === "" ? undefined : optionsOf(schema)[control.value].value));
}

function checkbox(facts) {
  const { id, schema, label } = facts;
  const control = element("input", { type: "checkbox", id });
  control.checked = schema.default === true;
  const line = element("div", { class: "choice" }, [control, element("label", { for: id }, [label, star(facts)])]);
  return field(facts, [line], control, () => control.checked, control);
}

function choices(facts) {
  const { id, schema, label } = facts;
  const boxes = optionsOf(schema.items ?? {}).map(({ value, title }, index) => {
    const box = element("input", { type: "checkbox", id: `${id}-${index}` });
    box.checked = (schema.default ?? []).includes(value);
    return { value, box, line: element("div", { class: "choice" }, [box, element("label", { for: box.id }, [title])]) };
  });
  const group = element("fieldset", { id }, [
    element("legend", {}, [label, star(facts)]),
    ...boxes.map(({ line }) => line),
  ]);
  const value = () => {
    const chosen = boxes.filter(({ box }) => box.checked).map(({ value }) => value);
    return chosen.length || facts.required ? chosen : undefined;
  };
  return field(facts, [group], group, value, boxes[0]?.box);
}

/** The choices of a schema in any of MCP's forms. */
function optionsOf({ enum: values = [], enumNames = [], oneOf, anyOf }) {
  const titled = oneOf ?? anyOf;
  if (titled) return titled.map(({ const: value, title = value }) => ({ value, title }));
  return values.map((value, index) => ({ value, title: enumNames[index] ?? value }));
}

function labelled(facts, control, value) {
  const { id, label } = facts;
  control.id = id;
  if (facts.required) control.setAttribute("aria-required", "true");
  return field(facts, [element("label", { for: id }, [label, star(facts)]), control], control, value, control);
}

/** Screen readers hear it from `aria-required`. */
function star({ required }) {
  return required ? element("span", { class: "star", "aria-hidden": "true" }, [" *"]) : undefined;
}

function field({ name, id, schema, required }, parts, described, value, focused) {
  const hint = schema.description && element("p", { id: `${id}-hint`, class: "hint" }, [schema.description]);
  const error = element("p", { id: `${id}-error`, class: "error" });
  const whole = element("div", { class: "field" }, [...parts, hint || undefined, error]);
  const check = () => {
    const what = fault(schema, value(), required);
    error.textContent = what ?? "";
    described.setAttribute("aria-invalid", String(what !== undefined));
    const ids = [hint && hint.id, what && error.id].filter(Boolean).join(" ");
    ids ? described.setAttribute("aria-describedby", ids) : described.removeAttribute("aria-describedby");
    return what;
  };
  if (hint) described.setAttribute("aria-describedby", hint.id);
  // Once told, a person sees at once that it is right now.
  whole.addEventListener("input", () => described.getAttribute("aria-invalid") === "true" && check());
  return { name, element: whole, value, check, focused };
}
