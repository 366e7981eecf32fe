/** Sets the files of file inputs. */

import { ActionError } from "../driver.ts";
import { dispatch } from "./dispatch.ts";
import { viewOf } from "./flat-tree.ts";

/** Maximum total size of the files of one action. */
export const MAX_FILE_BYTES = 5 * 1024 * 1024;

const SHAPE = 'give {"name": "a.txt", "mimeType": "text/plain", "text": "…"}, or "base64" instead of "text"';

/** Sets the files of a field: one, a list, or none. */
export function setFiles(field: HTMLInputElement, value: unknown): void {
  const given = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
  if (given.length > 1 && !field.multiple) throw new ActionError("ValueRefused", "this field takes one file: give one");
  const { DataTransfer, File } = viewOf(field);
  const files = given.map((one) => toFile(one, File));
  if (files.reduce((sum, file) => sum + file.size, 0) > MAX_FILE_BYTES) {
    throw new ActionError("ValueRefused", `files of one action have ${MAX_FILE_BYTES} bytes at most: give a smaller one`);
  }
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(file);
  field.files = transfer.files;
  dispatch(field, "input");
  dispatch(field, "change");
}

function toFile(value: unknown, FileOfView: typeof File): File {
  const { name, mimeType, text, base64 } = (typeof value === "object" && value ? value : {}) as Record<string, unknown>;
  const isText = typeof text === "string";
  if (typeof name !== "string" || !name || isText === (typeof base64 === "string")) throw new ActionError("ValueRefused", `not a file: ${SHAPE}`);
  const type = typeof mimeType === "string" ? mimeType : "";
  return new FileOfView([isText ? text : decode(base64 as string)], name, { type });
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    throw new ActionError("ValueRefused", `"base64" is not base64: ${SHAPE}`);
  }
}
