/** Plans the tools of a state from its schema and the options. Pure: nothing is registered, read or set here. */

import type { JsonSchema } from "../types/infer.ts";
import {
  type Editor,
  type Reader,
  addItem,
  changeFields,
  changeItem,
  deleteEntries,
  deleteItems,
  listPlace,
  readEntries,
  readItems,
  replaceFields,
  replaceValue,
  setEntry,
} from "./edit.ts";
import type { StateSchema } from "./markers.ts";
import { complete, parameters, partial, whole } from "./parameters.ts";
import { type FieldNode, type SchemaNode, branchNodes, elementOf, fieldsOf, isCollection, readNode, tupleNodes } from "./schema-node.ts";
import { type Path, getIn, pick } from "./values.ts";

/** A tool of a state. */
export interface ToolPlan {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema | undefined;
  readonly outputSchema: JsonSchema | undefined;
  readonly run: { readonly read: Reader } | { readonly edit: Editor };
  /** Whether the whole state must match its schema before the tool answers. */
  readonly isChecked?: boolean;
  readonly annotations: { readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean; readonly idempotentHint?: boolean };
}

/** The base of the tools' names, and the text of their descriptions. */
export interface Subject {
  readonly name: string;
  readonly description: string;
}

const READS = { readOnlyHint: true } as const;
const SETS = { destructiveHint: false, idempotentHint: true } as const;
const ADDS = { destructiveHint: false } as const;
const DELETES = { destructiveHint: true, idempotentHint: true } as const;

const INDEX = (description: string) => ({ type: "integer", minimum: 0, description });
const KEY = (description: string) => ({ type: "string", description });
const ALL = (what: string) => ({ const: true, description: `true deletes all ${what}` });

const SUCCESS_SCHEMA = { type: "object", properties: { success: { type: "boolean" } }, required: ["success"] };

/** Returns a description: that of the state, and that of the tool. */
export const describe = ({ description }: Subject, does: string): string => `${withoutEnd(description)}: ${does}.`;

/** Returns a text without the punctuation at its end. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ".: \t\n".includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}

/** The tool that returns the whole state, and the one that replaces it. */
export function basicTools(subject: Subject, schema: StateSchema): ToolPlan[] {
  return [basicGetter(subject, schema), basicSetter(subject, schema)];
}

/** The tool that returns the whole state. */
export function basicGetter(subject: Subject, { output }: StateSchema): ToolPlan {
  const described = output && readNode(output, output);
  const isObject = described && !described.isNullable && (described.kind === "object" || described.kind === "record");
  return {
    name: `get_${subject.name}`,
    description: describe(subject, "returns the whole state"),
    inputSchema: undefined,
    outputSchema: isObject ? complete(described) : undefined,
    run: { read: (state) => state },
    isChecked: true,
    annotations: READS,
  };
}

function basicSetter(subject: Subject, { input }: StateSchema): ToolPlan {
  const node = readNode(input, input);
  const hasFields = node.kind === "object" && !node.isNullable;
  if (hasFields) checkParameters(subject, fieldsOf(node));
  return {
    name: `set_${subject.name}`,
    description: describe(subject, "replaces the whole state"),
    inputSchema: hasFields ? complete(node) : parameters({ value: complete(node) }, ["value"]),
    outputSchema: SUCCESS_SCHEMA,
    run: { edit: hasFields ? replaceFields(node) : replaceValue([], node, false) },
    annotations: SETS,
  };
}

/** The tools of a value: of the whole state or a part of it. Empty if its kind has none. */
export function expandedTools(subject: Subject, path: Path, node: SchemaNode): ToolPlan[] {
  switch (node.kind) {
    case "array":
      return listTools(subject, path, node);
    case "record":
      return recordTools(subject, path, node);
    case "object":
      return objectTools(subject, path, node, fieldsOf(node));
    case "scalar":
      return scalarTools(subject, path, node);
    default:
      return [];
  }
}

export function scalarTools(subject: Subject, path: Path, node: SchemaNode): ToolPlan[] {
  const isRequired = !("default" in node.schema);
  return [
    getter(subject, path),
    {
      name: `set_${subject.name}`,
      description: describe(subject, "replaces the value, and returns it"),
      inputSchema: parameters({ value: whole(node) }, isRequired ? ["value"] : []),
      outputSchema: undefined,
      run: { edit: replaceValue(path, node, true) },
      annotations: SETS,
    },
  ];
}

/** A getter without parameters. */
export function getter(subject: Subject, path: Path): ToolPlan {
  return {
    name: `get_${subject.name}`,
    description: describe(subject, "returns the current value"),
    inputSchema: parameters({}),
    outputSchema: undefined,
    run: { read: (state) => getIn(state, path) },
    annotations: READS,
  };
}

/** The tools of an object with these fields: one for plain values, and those of each list and record. */
export function objectTools(subject: Subject, path: Path, node: SchemaNode, fields: readonly FieldNode[]): ToolPlan[] {
  const collections = fields.filter(isCollection);
  const fixed = fields.filter((field) => !isCollection(field));
  const root = collections.length ? rootGetter(subject, path, fixed) : getter(subject, path);
  return [root, ...remainderTools(subject, path, node, fields)];
}

/** The getter of an object with lists and records, which can leave them out. */
export function rootGetter(subject: Subject, path: Path, fixed: readonly FieldNode[]): ToolPlan {
  const names = fixed.map(({ name }) => name);
  const description = "true leaves out the lists and records, which have tools of their own";
  return {
    ...getter(subject, path),
    description: describe(subject, "returns the current state, with or without its lists and records"),
    inputSchema: parameters({ excludeCollections: { type: "boolean", description } }),
    run: {
      read(state, { excludeCollections }) {
        const value = getIn(state, path);
        return excludeCollections === true && value ? pick(value, names) : value;
      },
    },
  };
}

/** The tools of an object except its getter. */
export function remainderTools(subject: Subject, path: Path, node: SchemaNode, fields: readonly FieldNode[]): ToolPlan[] {
  const collections = fields.filter(isCollection);
  const fixed = fields.filter((field) => !isCollection(field));
  const isWhole = collections.length === 0 && fields.length === fieldsOf(node).length;
  const tools: ToolPlan[] = [];
  if (fixed.length || isWhole) tools.push(fieldSetter(subject, path, fixed, isWhole));
  for (const field of collections) {
    tools.push(...expandedTools(subjectOf(subject, field.name, field), [...path, field.name], field));
  }
  return tools;
}

/** Returns the subject of a field. */
export function subjectOf({ name, description }: Subject, part: string, { schema }: SchemaNode): Subject {
  const own = typeof schema.description === "string" ? ` (${withoutEnd(schema.description)})` : "";
  return { name: `${name}_${part}`, description: `${withoutEnd(description)}, ${part}${own}` };
}

function fieldSetter(subject: Subject, path: Path, fixed: readonly FieldNode[], isWhole: boolean): ToolPlan {
  checkParameters(subject, fixed);
  const settable = fixed.filter(({ isSystem }) => !isSystem);
  const names = fixed.map(({ name }) => name);
  return {
    name: `set_${subject.name}`,
    description: describe(subject, "changes the given fields, and returns the new values; other fields stay unchanged"),
    inputSchema: parameters(Object.fromEntries(settable.map((field) => [field.name, partial(field)]))),
    outputSchema: undefined,
    run: { edit: changeFields(path, fixed, isWhole ? undefined : names) },
    annotations: SETS,
  };
}

function listTools(subject: Subject, path: Path, node: SchemaNode): ToolPlan[] {
  const list = listPlace(subject.name, path, node);
  const { idField } = list;
  const key = idField ? "id" : "index";
  const keySchema = (description: string) => (idField ? { ...withoutDefault(complete(idField)), description } : INDEX(description));
  const optional = (description: string, what: object) => parameters({ [key]: keySchema(description), ...what });
  const add = { value: { ...whole(list.item), description: "The new item" } };
  const at: { [name: string]: object } = idField ? {} : { index: INDEX("Where to put it; at the end if it is left out") };
  return [
    {
      name: `get_${subject.name}`,
      description: describe(subject, `returns the item with this ${key}, or all items`),
      inputSchema: optional(`The ${key} of an item; all items if it is left out`, {}),
      outputSchema: undefined,
      run: { read: readItems(list) },
      annotations: READS,
    },
    {
      name: `add_${subject.name}`,
      description: describe(subject, "adds an item, and returns it"),
      inputSchema: parameters({ ...add, ...at }, ["value"]),
      outputSchema: undefined,
      run: { edit: addItem(list) },
      annotations: ADDS,
    },
    {
      name: `set_${subject.name}`,
      description: describe(subject, "changes an item, and returns it; fields that are left out stay as they are"),
      inputSchema: parameters({ [key]: keySchema(`The ${key} of the item`), value: { ...partial(list.item), description: "What to change" } }, [
        key,
        "value",
      ]),
      outputSchema: undefined,
      run: { edit: changeItem(list) },
      annotations: SETS,
    },
    {
      name: `delete_${subject.name}`,
      description: describe(subject, "deletes an item, or all items"),
      inputSchema: optional(`The ${key} of the item`, { all: ALL("items") }),
      outputSchema: undefined,
      run: { edit: deleteItems(list) },
      annotations: DELETES,
    },
  ];
}

function recordTools(subject: Subject, path: Path, node: SchemaNode): ToolPlan[] {
  const record = { name: subject.name, path, entry: elementOf(node) };
  return [
    {
      name: `get_${subject.name}`,
      description: describe(subject, "returns the entry with this key, or all entries"),
      inputSchema: parameters({ key: KEY("The key of an entry; all entries if it is left out") }),
      outputSchema: undefined,
      run: { read: readEntries(record) },
      annotations: READS,
    },
    {
      name: `set_${subject.name}`,
      description: describe(subject, "sets an entry, and returns it; fields of an entry that are left out stay as they are"),
      inputSchema: parameters(
        { key: KEY("The key of the entry"), value: { ...partial(record.entry), description: "The entry, or what to change in it" } },
        ["key", "value"],
      ),
      outputSchema: undefined,
      run: { edit: setEntry(record) },
      annotations: SETS,
    },
    {
      name: `delete_${subject.name}`,
      description: describe(subject, "deletes an entry, or all entries"),
      inputSchema: parameters({ key: KEY("The key of the entry"), all: ALL("entries") }),
      outputSchema: undefined,
      run: { edit: deleteEntries(record) },
      annotations: DELETES,
    },
  ];
}

/** A default would be mistaken for the effect of omitting the parameter. */
const withoutDefault = ({ default: _default, ...schema }: { [keyword: string]: unknown }) => schema;

/** The argument that selects a page, which the bridge adds to every tool. */
const SESSION_PARAMETER = "session_id";

/** Rejects parameters that would never reach the tool. */
export function checkParameters({ name }: Subject, fields: readonly FieldNode[]): void {
  if (fields.some((field) => field.name === SESSION_PARAMETER)) {
    throw new TypeError(`state "${name}": a field cannot be called "${SESSION_PARAMETER}", because clients pick a page with this argument`);
  }
}

/** Rejects fields that could never be set, at every level. */
export function checkSystem(subject: Subject, node: SchemaNode, seen = new Set<unknown>()): void {
  if (seen.has(node.schema.properties ?? node.schema)) return;
  seen.add(node.schema.properties ?? node.schema);
  for (const inner of [...branchNodes(node), ...(tupleNodes(node) ?? [])]) checkSystem(subject, inner, seen);
  if (isCollection(node)) return checkSystem(subject, elementOf(node), seen);
  if (node.kind !== "object") return;
  for (const field of fieldsOf(node)) {
    if (field.isSystem && !field.hasDefault) throw systemWithoutDefault(subject, field.name);
    checkSystem(subject, field, seen);
  }
}

const systemWithoutDefault = ({ name }: Subject, field: string) =>
  new TypeError(`state "${name}": the field "${field}" is marked with system(), so it needs a default`);
