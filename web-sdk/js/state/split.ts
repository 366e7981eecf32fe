/** Splits a state into parts with separate tools: the option `schemaSplit`. */

import { listPlace, replaceEntry, replaceItem, setChunk, setField, setGroup } from "./edit.ts";
import type { StateSchema } from "./markers.ts";
import { complete, parameters, partial } from "./parameters.ts";
import {
  type Subject,
  type ToolPlan,
  basicGetter,
  checkParameters,
  describe,
  expandedTools,
  getter,
  remainderTools,
  rootGetter,
  scalarTools,
  subjectOf,
} from "./plan.ts";
import { type FieldNode, type SchemaNode, elementOf, fieldOf, fieldsOf, isCollection } from "./schema-node.ts";
import { type Path, getIn } from "./values.ts";

/** One part of the split: a path, or several paths whose fields are set together. */
export type SplitEntry = string | readonly string[];

/** The meaning of an entry, by the schema. */
type Part =
  | { kind: "field"; place: Path; parent: Path; field: FieldNode }
  | { kind: "items"; place: Path; field: FieldNode }
  | { kind: "entries"; place: Path; field: FieldNode }
  | { kind: "chunk"; place: Path; parent: Path; field: FieldNode; label: string; values: readonly unknown[] }
  | { kind: "group"; name: string; members: { place: Path; parent: Path; field: FieldNode }[] };

/** The tools of a split state without `expand`: the getter of the whole state, and a setter for each part. */
export function splitTools(subject: Subject, schema: StateSchema, node: SchemaNode, split: readonly SplitEntry[]): ToolPlan[] {
  const setters = withoutSwallowed(readParts(subject, node, split)).map((part) => partSetter(subject, part));
  return [basicGetter(subject, schema), ...setters];
}

/** The tools of a split and expanded state: a getter of the whole state, the tools of each part, and those of the rest. */
export function expandedSplitTools(subject: Subject, node: SchemaNode, split: readonly SplitEntry[]): ToolPlan[] {
  const parts = withoutSwallowed(readParts(subject, node, split));
  const fields = fieldsOf(node);
  const fixed = fields.filter((field) => !isCollection(field));
  const root = fixed.length < fields.length ? rootGetter(subject, [], fixed) : getter(subject, []);
  const taken = new Set(parts.flatMap((part) => topFields(part)));
  const rest = fields.filter(({ name }) => !taken.has(name));
  return [
    root,
    ...parts.flatMap((part) => expandedPart(subject, part)),
    ...(rest.length ? remainderTools(subject, [], node, rest) : []),
  ];
}

/** The fields of the state that a part covers entirely. The others belong to the rest. */
function topFields(part: Part): string[] {
  const places = part.kind === "group" ? part.members.map(({ place }) => place) : [part.place];
  return places.filter(({ length }) => length === 1).map(([name]) => String(name));
}

function readParts(subject: Subject, node: SchemaNode, split: readonly SplitEntry[]): Part[] {
  if (!Array.isArray(split)) {
    throw new TypeError(`state "${subject.name}": schemaSplit must be a list of paths, such as ["board", "score.red"]`);
  }
  const slices = new Map<string, { from: number; to: number }[]>();
  const parts = split.flatMap((entry) =>
    typeof entry === "string" ? readEntry(subject, node, entry, slices) : [readGroup(subject, node, entry)],
  );
  checkSlices(subject, node, slices);
  return parts;
}

/** Returns the field at a path of names. */
function findField(subject: Subject, node: SchemaNode, path: string): { place: Path; parent: Path; field: FieldNode } {
  const place = path.split(".");
  let field: FieldNode | undefined;
  let parent = node;
  for (const name of place) {
    field = parent.kind === "object" ? fieldOf(parent, name) : undefined;
    if (!field) throw new TypeError(`state "${subject.name}": schemaSplit names "${path}", which the schema does not have`);
    parent = field;
  }
  return { place, parent: place.slice(0, -1), field: field! };
}

/** `field`, `parent.child`, `list[]`, `map{}`, `enum[2]`, `enum[0:2]` and `enum[2:]`. */
const ENTRY = /^(?<path>[^[\]{}]+)(?<suffix>\[\]|\{\}|\[(?<size>\d+)\]|\[(?<from>\d*):(?<to>\d*)\])?$/;

function readEntry(subject: Subject, node: SchemaNode, entry: string, slices: Map<string, { from: number; to: number }[]>): Part[] {
  const match = ENTRY.exec(entry)?.groups;
  if (!match) {
    throw new TypeError(
      `state "${subject.name}": schemaSplit has "${entry}": use field, parent.child, list[], map{}, enum[2] or enum[0:2]; lists in lists have no parts`,
    );
  }
  const { path, suffix, size, from, to } = match;
  const found = findField(subject, node, path!);
  const expect = (kind: string, is: boolean) => {
    if (!is) throw new TypeError(`state "${subject.name}": schemaSplit has "${entry}", but "${path}" is not ${kind}`);
  };
  if (suffix === "[]") {
    expect("a list", found.field.kind === "array");
    return [{ kind: "items", ...found }];
  }
  if (suffix === "{}") {
    expect("a record", found.field.kind === "record");
    return [{ kind: "entries", ...found }];
  }
  if (suffix === undefined) return [{ kind: "field", ...found }];
  const values: unknown[] = found.field.schema.enum ?? [];
  expect("an enum", values.length > 0);
  if (size !== undefined) {
    const step = Number(size);
    expect("an enum that can be split in this way", step > 0);
    const count = Math.ceil(values.length / step);
    return Array.from({ length: count }, (_, index) => ({
      kind: "chunk",
      ...found,
      label: String(index + 1),
      values: values.slice(index * step, (index + 1) * step),
    }));
  }
  const range = { from: Number(from), to: to ? Number(to) : values.length };
  slices.set(path!, [...(slices.get(path!) ?? []), range]);
  const label = `${range.from}-${to || "end"}`;
  return [{ kind: "chunk", ...found, label, values: values.slice(range.from, range.to) }];
}

/** Slices of an enum must contain each of its values once. */
function checkSlices(subject: Subject, node: SchemaNode, slices: Map<string, { from: number; to: number }[]>): void {
  for (const [path, ranges] of slices) {
    const values: unknown[] = findField(subject, node, path).field.schema.enum;
    let end = 0;
    for (const { from, to } of [...ranges].sort((left, right) => left.from - right.from)) {
      if (from !== end || to <= from) {
        throw new TypeError(`state "${subject.name}": the slices of "${path}" must have each of its ${values.length} values once: see ${from}:${to}`);
      }
      end = to;
    }
    if (end < values.length) throw new TypeError(`state "${subject.name}": the slices of "${path}" end at ${end} of ${values.length} values`);
  }
}

function readGroup(subject: Subject, node: SchemaNode, entries: readonly string[]): Part {
  const members = entries.map((entry) => findField(subject, node, entry));
  const names = members.map(({ field }) => field.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new TypeError(`state "${subject.name}": the group [${entries.join(", ")}] of schemaSplit has two fields "${twice}": name them in entries of their own`);
  }
  const [first] = members;
  if (!first) throw new TypeError(`state "${subject.name}": schemaSplit has an empty group`);
  const hasCommonParent = first.parent.length > 0 && members.every(({ parent }) => parent.join(".") === first.parent.join("."));
  return { kind: "group", name: hasCommonParent ? first.parent.join("-") : names.join("_"), members };
}

/** A part whose parent is also a part is set with it. */
function withoutSwallowed(parts: readonly Part[]): Part[] {
  const wholes = parts.filter((part) => part.kind === "field").map(({ place }) => place);
  const isBelow = (place: Path, parent: Path) => place.length > parent.length && parent.every((name, index) => name === place[index]);
  const isSwallowed = (place: Path) => wholes.some((parent) => isBelow(place, parent));
  return parts.filter((part) => part.kind === "group" || !isSwallowed(part.place));
}

/** Returns whether a call must contain a field. */
const isNeeded = ({ isRequired, hasDefault }: FieldNode) => isRequired && !hasDefault;

const dashed = (place: Path) => place.join("-");

function setter(subject: Subject, part: string, node: SchemaNode, tool: Pick<ToolPlan, "inputSchema" | "run">, does: string): ToolPlan {
  const named = subjectOf(subject, part, node);
  return {
    name: `set_${named.name}`,
    description: describe(named, does),
    outputSchema: { type: "object", properties: { success: { type: "boolean" } }, required: ["success"] },
    annotations: { destructiveHint: false, idempotentHint: true },
    ...tool,
  };
}

function partSetter(subject: Subject, part: Part): ToolPlan {
  if (part.kind === "group") {
    checkParameters(subject, part.members.map(({ field }) => field));
    const fields = part.members.map(({ field }) => field);
    const properties = Object.fromEntries(fields.map((field) => [field.name, complete(field)]));
    const required = fields.filter(isNeeded).map(({ name }) => name);
    const members = part.members.map(({ parent, field }) => ({ path: parent, field }));
    const tool = { inputSchema: parameters(properties, required), run: { edit: setGroup(members, false) } };
    return setter(subject, part.name, { ...fields[0]!, schema: {} }, tool, `sets ${fields.map(({ name }) => name).join(", ")}`);
  }
  const { place, field } = part;
  const name = dashed(place);
  const index = { type: "integer", minimum: 0, description: "The index of the item" };
  const key = { type: "string", description: "The key of the entry" };
  switch (part.kind) {
    case "items": {
      const item = elementOf(field);
      const inputSchema = parameters({ index, value: complete(item) }, ["index", "value"]);
      const run = { edit: replaceItem(listPlace(name, place, field)) };
      return setter(subject, `${name}-item`, field, { inputSchema, run }, "replaces one item");
    }
    case "entries": {
      const inputSchema = parameters({ key, value: complete(elementOf(field)) }, ["key", "value"]);
      return setter(subject, `${name}-entry`, field, { inputSchema, run: { edit: replaceEntry(place) } }, "sets one entry");
    }
    case "chunk": {
      checkParameters(subject, [field]);
      const { default: _default, ...schema } = complete(field);
      const inputSchema = parameters({ [field.name]: { ...schema, ...chunkOf(field, part.values) } }, isNeeded(field) ? [field.name] : []);
      const run = { edit: setChunk(part.parent, field, part.values) };
      return setter(subject, `${name}-${part.label}`, field, { inputSchema, run }, `sets it to one of ${part.values.length} values`);
    }
    case "field": {
      checkParameters(subject, [field]);
      const inputSchema = parameters({ [field.name]: complete(field) }, isNeeded(field) ? [field.name] : []);
      return setter(subject, name, field, { inputSchema, run: { edit: setField(part.parent, field) } }, "replaces it");
    }
  }
}

/** Returns the keywords that limit a schema to some values. */
const chunkOf = ({ isNullable }: FieldNode, values: readonly unknown[]) =>
  isNullable ? { anyOf: undefined, type: undefined, enum: [...values, null] } : { enum: values };

function expandedPart(subject: Subject, part: Part): ToolPlan[] {
  if (part.kind === "chunk") {
    throw new TypeError(`state "${subject.name}": with expand, the enum "${part.place.join(".")}" cannot be split: name the field`);
  }
  if (part.kind !== "group") {
    const named = subjectOf(subject, dashed(part.place), part.field);
    const tools = expandedTools(named, part.place, part.field);
    // A union is replaced as a whole.
    return tools.length ? tools : scalarTools(named, part.place, part.field);
  }
  const fields = part.members.map(({ field }) => field);
  checkParameters(subject, fields);
  const named = subjectOf(subject, part.name, { ...fields[0]!, schema: {} });
  const read = (state: unknown) => Object.fromEntries(part.members.map(({ place, field }) => [field.name, getIn(state, place)]));
  const settable = fields.filter(({ isSystem }) => !isSystem);
  return [
    { ...getter(named, []), run: { read } },
    {
      name: `set_${named.name}`,
      description: describe(named, "changes the given fields, and returns the new values; other fields stay unchanged"),
      inputSchema: parameters(Object.fromEntries(settable.map((field) => [field.name, partial(field)]))),
      outputSchema: undefined,
      run: { edit: setGroup(part.members.filter(({ field }) => !field.isSystem).map(({ parent, field }) => ({ path: parent, field })), true) },
      annotations: { destructiveHint: false, idempotentHint: true },
    },
  ];
}
