/** The names in an app's state that a client sets, and the allowed values. */

import { ActionError } from "mcp-web-sdk/page-driver";

import { countValues } from "../engine/json-values.ts";
import { type StateLimits, maxStateValues } from "../engine/state-limits.ts";

/** Maximum length of a name, in characters and in parts. */
const MAX_KEY_CHARS = 500;
const MAX_PARTS = 50;
/** Maximum size of a value, as JSON. */
const MAX_VALUE_BYTES = 256 * 1024;

/**
 * Returns the parts of a name such as `lines.0.name`.
 *
 * @throws ActionError if it leads out of the state, or skips items of a list, because the engine would create them all.
 */
export function parsePath(key: string, state: Record<string, unknown>, { maxListItems }: StateLimits): string[] {
  const parts = key.split(".");
  const isOutside = !key || key.length > MAX_KEY_CHARS || parts.length > MAX_PARTS || parts.some((part) => !part || part in Object.prototype || part === "prototype");
  if (isOutside) throw new ActionError("ActionFailed", `${JSON.stringify(key.slice(0, 50))} is not a name in the state`);
  let at: unknown = state;
  for (const part of parts) {
    if (/^\d+$/.test(part)) {
      const length = Array.isArray(at) ? at.length : 0;
      if (Number(part) > length) throw new ActionError("ActionFailed", `${JSON.stringify(key.slice(0, 50))} leaves items out: the next one is ${length}`);
      if (Number(part) >= maxListItems) throw tooManyItems(maxListItems);
    }
    at = typeof at === "object" && at !== null && Object.hasOwn(at, part) ? (at as Record<string, unknown>)[part] : undefined;
  }
  return parts;
}

/** @throws ActionError if a value is too large for the engine to handle in time. */
export function checkValue(value: unknown, { maxListItems }: StateLimits): unknown {
  let items = 0;
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (Array.isArray(inner)) items += inner.length;
    return inner;
  });
  if (items > maxListItems) throw tooManyItems(maxListItems);
  if (Buffer.byteLength(text ?? "") > MAX_VALUE_BYTES) throw new ActionError("ActionFailed", `the value has more than ${MAX_VALUE_BYTES} bytes: set less`);
  return value;
}

/** @throws ActionError if values would make the state of a session too large. */
export function checkStateSize(state: object, values: object, limits: StateLimits): void {
  const { maxStateBytes } = limits;
  const bytes = Buffer.byteLength(JSON.stringify(state)) + Buffer.byteLength(JSON.stringify(values));
  if (bytes > maxStateBytes) throw new ActionError("ActionFailed", `the state would have more than ${maxStateBytes} bytes (maxStateBytes): set less`);
  const most = maxStateValues(limits);
  if (countValues(state) + countValues(values) > most) throw new ActionError("ActionFailed", `the state would have more than ${most} values (maxStateBytes / 20): set less`);
}

const tooManyItems = (most: number) => new ActionError("ActionFailed", `more than ${most} items (maxListItems): set less`);
