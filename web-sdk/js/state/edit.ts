/** The reads and changes of the calls of state tools, as functions of the state and the arguments. */

import { McpWebError } from "../mcp-web/error.ts";
import { isObject } from "../mcp-web/type-guards.ts";
import { type FieldNode, type SchemaNode, elementOf, fieldsOf, isOpen } from "./schema-node.ts";
import { type Fields, type Path, fieldsIn, getIn, isSame, itemsIn, merge, pick, replace, setIn, withEntry } from "./values.ts";

/** The arguments of a call. */
export type CallArguments = { readonly [name: string]: any };

/** The position of an argument's value in the state, so that errors can refer to the call. */
export interface Origin {
  readonly place: Path;
  readonly parameter: Path;
}

/** A prepared change. */
export interface Edit {
  /** The state that the schema's library must accept. */
  readonly candidate: unknown;
  readonly origins: readonly Origin[];
  /** Returns the new state, from the library's result for the candidate. */
  commit(parsed: unknown): unknown;
  /** Returns the answer to the client. */
  answer(next: unknown): unknown;
}

/** A call that changes nothing. */
export interface NoEdit {
  readonly result: unknown;
}

/** Prepares a change. */
export type Editor = (state: unknown, args: CallArguments) => Edit | NoEdit;

/** Returns a part of the state. */
export type Reader = (state: unknown, args: CallArguments) => unknown;

/** An error in the arguments. `path` is a parameter. */
export const invalid = (path: string, problem: string): McpWebError => new McpWebError("InvalidArguments", `/${path}: ${problem}`);

const SUCCESS = { success: true };

/** Replaces a whole value, which is the parameter `value`. */
export function replaceValue(path: Path, node: SchemaNode, isAnswered: boolean): Editor {
  return (state, args) => ({
    candidate: setIn(state, path, isAnswered ? replace(node, getIn(state, path), args.value) : args.value),
    origins: [{ place: path, parameter: ["value"] }],
    commit: (parsed) => setIn(state, path, getIn(parsed, path)),
    answer: (next) => (isAnswered ? { success: true, value: getIn(next, path) } : SUCCESS),
  });
}

/** Replaces the whole state, whose fields are the parameters. */
export function replaceFields(node: SchemaNode): Editor {
  const names = fieldsOf(node).map(({ name }) => name);
  return (_state, args) => ({
    candidate: isOpen(node) ? { ...args } : pick(args, names),
    origins: [{ place: [], parameter: [] }],
    commit: (parsed) => parsed,
    answer: () => SUCCESS,
  });
}

/** Changes the fields of an object that are in the arguments. The answer has the fields in `shown`. */
export function changeFields(path: Path, fields: readonly FieldNode[], shown: readonly string[] | undefined): Editor {
  return (state, args) => {
    const current = getIn(state, path);
    const base: Fields = { ...fieldsIn(current) };
    const given = fields.filter(({ name, isSystem }) => !isSystem && Object.hasOwn(args, name) && args[name] !== undefined);
    const changed = given.reduce((object, field) => {
      const value = merge(field, getIn(base, [field.name]), args[field.name]);
      return withEntry(object, field.name, value);
    }, base);
    return {
      candidate: setIn(state, path, changed),
      origins: given.map(({ name }) => ({ place: [...path, name], parameter: [name] })),
      commit(parsed) {
        const made = getIn(parsed, path);
        if (!isObject(made) || !isObject(current)) return setIn(state, path, made);
        // Fields that are not in the call stay unchanged, because the library may give them defaults.
        const names = Object.keys(made).filter((name) => !Object.hasOwn(base, name) || given.some((field) => field.name === name));
        return setIn(state, path, names.reduce((object, name) => withEntry(object, name, made[name]), base));
      },
      answer(next) {
        const value = getIn(next, path);
        return { success: true, value: shown ? pick(value, shown) : value };
      },
    };
  };
}

/** Sets one field, or removes it if the argument is missing, so that the library fills in its default. */
export function setField(path: Path, field: FieldNode): Editor {
  const place = [...path, field.name];
  return (state, args) => {
    const parent = getIn(state, path);
    const { [field.name]: _former, ...others } = fieldsIn(parent);
    const value = args[field.name];
    if (value === undefined && field.isRequired && !field.hasDefault) throw invalid(field.name, "is missing");
    const candidate = value === undefined ? setIn(state, path, others) : setIn(state, place, value);
    return {
      candidate,
      origins: [{ place, parameter: [field.name] }],
      commit(parsed) {
        const made = getIn(parsed, place);
        return made === undefined ? state : setIn(state, place, made);
      },
      answer: () => SUCCESS,
    };
  };
}

/** The position of a list, and the field that identifies its items. */
export interface ListPlace {
  readonly name: string;
  readonly path: Path;
  readonly item: SchemaNode;
  /** The field that identifies an item; `undefined` when its index does. */
  readonly idField: FieldNode | undefined;
}

/** Returns the data that the tools of a list need. */
export function listPlace(name: string, path: Path, node: SchemaNode): ListPlace {
  const item = elementOf(node);
  const ids = item.kind === "object" ? fieldsOf(item).filter(({ isId }) => isId) : [];
  if (ids.length > 1) {
    throw new TypeError(`state "${name}": the items have two ids, "${ids[0]!.name}" and "${ids[1]!.name}": mark one field with id()`);
  }
  return { name, path, item, idField: ids[0] };
}

const itemsAt = (state: unknown, path: Path): readonly unknown[] => itemsIn(getIn(state, path));

/** Returns the index of the item that the arguments name, or -1. */
function indexOf({ idField }: ListPlace, items: readonly unknown[], args: CallArguments): number {
  if (idField) return items.findIndex((item) => isSame(getIn(item, [idField.name]), args.id));
  return checkedIndex(args.index) < items.length ? args.index : -1;
}

function checkedIndex(index: unknown): number {
  if (!Number.isInteger(index) || (index as number) < 0) throw invalid("index", `${JSON.stringify(index)} is not an integer from 0`);
  return index as number;
}

const keyOf = ({ idField }: ListPlace) => (idField ? "id" : "index");

/** Returns one item, or all of them. A missing one is `undefined`. */
export function readItems(list: ListPlace): Reader {
  return (state, args) => {
    const items = getIn(state, list.path);
    return args[keyOf(list)] === undefined ? items : itemsAt(state, list.path)[indexOf(list, itemsAt(state, list.path), args)];
  };
}

/** Adds an item: at the end, unless an index is given. */
export function addItem(list: ListPlace): Editor {
  return (state, args) => {
    const items = itemsAt(state, list.path);
    if (args.value === undefined) throw invalid("value", "is missing");
    const at = list.idField || args.index === undefined ? items.length : Math.min(checkedIndex(args.index), items.length);
    return editItem(list, state, items, at, 0, replace(list.item, undefined, args.value));
  };
}

/** Changes one item. */
export function changeItem(list: ListPlace): Editor {
  return (state, args) => {
    const items = itemsAt(state, list.path);
    if (args[keyOf(list)] === undefined) throw invalid(keyOf(list), "is missing");
    if (args.value === undefined) throw invalid("value", "is missing");
    const at = indexOf(list, items, args);
    if (at < 0) throw missingItem(list, items, args);
    return editItem(list, state, items, at, 1, merge(list.item, items[at], args.value));
  };
}

/** Replaces `removed` items by a value. */
function editItem(list: ListPlace, state: unknown, items: readonly unknown[], at: number, removed: 0 | 1, value: unknown): Edit {
  const place = [...list.path, at];
  const changed = items.toSpliced(at, removed, value);
  let answered: unknown;
  return {
    candidate: setIn(state, list.path, changed),
    origins: [{ place, parameter: ["value"] }],
    commit(parsed) {
      const made = getIn(parsed, list.path);
      const isInPlace =
        Array.isArray(made) && made.length === changed.length && made.every((item, index) => index === at || isSame(item, changed[index]));
      answered = isInPlace ? made[at] : value;
      checkId(list, items, at, removed, answered);
      // A library that sorts or filters the list determines all of it.
      return setIn(state, list.path, isInPlace ? items.toSpliced(at, removed, answered) : made);
    },
    answer: () => ({ success: true, value: answered }),
  };
}

function checkId({ idField, name }: ListPlace, items: readonly unknown[], at: number, removed: 0 | 1, item: unknown): void {
  if (!idField) return;
  const id = getIn(item, [idField.name]);
  if (id === undefined) return;
  const other = items.findIndex((other, index) => !(removed && index === at) && isSame(getIn(other, [idField.name]), id));
  if (other >= 0) throw invalid(`value/${idField.name}`, `${JSON.stringify(id)} is the id of another item of ${name}`);
}

function missingItem({ idField, name }: ListPlace, items: readonly unknown[], args: CallArguments): McpWebError {
  if (!idField) return invalid("index", `${args.index} is out of range: ${name} has ${items.length} items`);
  return invalid("id", `${name} has no item with the id ${JSON.stringify(args.id)}`);
}

/** Deletes one item, or all of them. */
export function deleteItems(list: ListPlace): Editor {
  return (state, args) => {
    const items = itemsAt(state, list.path);
    if (isAll(args, keyOf(list))) return replaceCollection(state, list.path, []);
    const at = indexOf(list, items, args);
    return at < 0 ? NOTHING_DELETED : replaceCollection(state, list.path, items.toSpliced(at, 1));
  };
}

/** A missing item is already deleted. */
const NOTHING_DELETED: NoEdit = { result: { success: true, deleted: 0 } };

function isAll(args: CallArguments, key: string): boolean {
  if (args.all !== undefined && args.all !== true) throw invalid("all", "must be true, or left out");
  if (args.all === undefined && args[key] === undefined) throw invalid(key, `is missing: say which, or "all": true`);
  return args.all === true;
}

function replaceCollection(state: unknown, path: Path, value: unknown): Edit {
  const next = setIn(state, path, value);
  return { candidate: next, origins: [], commit: () => next, answer: () => SUCCESS };
}

/** The position of a record. */
export interface RecordPlace {
  readonly name: string;
  readonly path: Path;
  readonly entry: SchemaNode;
}

const entriesAt = (state: unknown, path: Path): Fields => fieldsIn(getIn(state, path));

/** Returns one entry, or all of them. A missing one is `undefined`. */
export function readEntries({ path }: RecordPlace): Reader {
  return (state, { key }) => (key === undefined ? getIn(state, path) : getIn(entriesAt(state, path), [checkedKey(key)]));
}

function checkedKey(key: unknown): string {
  if (typeof key !== "string") throw invalid("key", `${JSON.stringify(key)} is not a string`);
  return key;
}

/** Sets an entry. An object is merged, and any other value is replaced. */
export function setEntry({ path, entry }: RecordPlace): Editor {
  return (state, args) => {
    if (args.key === undefined) throw invalid("key", "is missing");
    if (args.value === undefined) throw invalid("value", "is missing");
    const key = checkedKey(args.key);
    const entries = entriesAt(state, path);
    const former = getIn(entries, [key]);
    const value = entry.kind === "object" ? merge(entry, former, args.value) : replace(entry, former, args.value);
    return editEntry(state, path, entries, key, value, true);
  };
}

/** Sets the value of a key. A key that the library drops is rejected, because its value was not validated. */
function editEntry(state: unknown, path: Path, entries: Fields, key: string, value: unknown, isAnswered: boolean): Edit {
  const place = [...path, key];
  return {
    candidate: setIn(state, path, withEntry(entries, key, value)),
    origins: [{ place, parameter: ["value"] }],
    commit(parsed) {
      const made = getIn(parsed, place);
      if (made === undefined) throw invalid("key", `the schema does not accept ${JSON.stringify(key)}`);
      return setIn(state, path, withEntry(entries, key, made));
    },
    answer: (next) => (isAnswered ? { success: true, value: getIn(next, place) } : SUCCESS),
  };
}

/** Deletes one entry, or all of them. */
export function deleteEntries({ path }: RecordPlace): Editor {
  return (state, args) => {
    if (isAll(args, "key")) return replaceCollection(state, path, {});
    const key = checkedKey(args.key);
    const entries = entriesAt(state, path);
    if (!Object.hasOwn(entries, key)) return NOTHING_DELETED;
    const others = Object.entries(entries).filter(([name]) => name !== key);
    return replaceCollection(state, path, Object.fromEntries(others));
  };
}

/** Replaces one whole existing item of a list. */
export function replaceItem(list: ListPlace): Editor {
  const { name, path } = list;
  return (state, args) => {
    const items = itemsAt(state, path);
    if (args.index === undefined) throw invalid("index", "is missing");
    if (args.value === undefined) throw invalid("value", "is missing");
    const at = checkedIndex(args.index);
    if (at >= items.length) throw invalid("index", `${at} is out of range: ${name} has ${items.length} items`);
    const edit = editItem(list, state, items, at, 1, args.value);
    return { ...edit, answer: () => SUCCESS };
  };
}

/** Replaces one whole entry of a record, or adds it. */
export function replaceEntry(path: Path): Editor {
  return (state, args) => {
    if (args.key === undefined) throw invalid("key", "is missing");
    if (args.value === undefined) throw invalid("value", "is missing");
    return editEntry(state, path, entriesAt(state, path), checkedKey(args.key), args.value, false);
  };
}

/** Sets a field to one of some values. */
export function setChunk(path: Path, field: FieldNode, values: readonly unknown[]): Editor {
  const edit = setField(path, field);
  return (state, args) => {
    const value = args[field.name];
    const isAllowed = values.includes(value) || (value === null && field.isNullable);
    if (value !== undefined && !isAllowed) {
      throw invalid(field.name, `${JSON.stringify(value)} is not one of ${JSON.stringify(values)}`);
    }
    return edit(state, args);
  };
}

/** Sets several fields of one or more objects: the last name of each path is its parameter. */
export function setGroup(members: readonly { path: Path; field: FieldNode }[], isPartial: boolean): Editor {
  return (state, args) => {
    const given = members.filter(({ field }) => Object.hasOwn(args, field.name) && args[field.name] !== undefined);
    if (!isPartial) {
      const missing = members.find(({ field }) => field.isRequired && !field.hasDefault && args[field.name] === undefined);
      if (missing) throw invalid(missing.field.name, "is missing");
    }
    const place = ({ path, field }: { path: Path; field: FieldNode }) => [...path, field.name];
    const candidate = given.reduce((whole, member) => {
      const { field } = member;
      const value = isPartial ? merge(field, getIn(whole, place(member)), args[field.name]) : args[field.name];
      return setIn(whole, place(member), value);
    }, state);
    const read = (next: unknown) => Object.fromEntries(members.map((member) => [member.field.name, getIn(next, place(member))]));
    return {
      candidate,
      origins: given.map((member) => ({ place: place(member), parameter: [member.field.name] })),
      commit: (parsed) => given.reduce((whole, member) => setIn(whole, place(member), getIn(parsed, place(member))), state),
      answer: (next) => (isPartial ? { success: true, value: read(next) } : SUCCESS),
    };
  };
}
