/** Types into fields, at the caret. */

import { invoke } from "../../dom/native.ts";
import { isTextInput } from "./classify.ts";
import { isEditor } from "./default-actions.ts";
import { dispatch } from "./dispatch.ts";
import { edit } from "./editable.ts";
import { is } from "./flat-tree.ts";
import { documentOf } from "./native.ts";
import { setNativeValue } from "./set-value.ts";
import { selectText, typedText } from "./typed-text.ts";

type Field = HTMLInputElement | HTMLTextAreaElement;

/** Returns whether an element accepts typed text. */
export function isTextField(element: Element): boolean {
  if (is(element, "input", "textarea")) return !element.readOnly && (is(element, "textarea") || isTextInput(element));
  return isEditor(element);
}

/** Inserts text at the caret, replacing the selection. */
export function insertText(element: Element, text: string): void {
  if (!is(element, "input", "textarea")) return edit(element, "insertText", "insertText", text);
  if (element.type === "number" && !/^[-+.\de]$/i.test(text)) return;
  const { maxLength } = element;
  const { text: before, start, end } = typedText(element);
  if (maxLength >= 0 && before.length - (end - start) + text.length > maxLength) return;
  editField(element, start, end, text, text === "\n" ? "insertLineBreak" : "insertText");
}

/** Deletes the selection, or the character before or after the caret. */
export function deleteText(element: Element, isForward: boolean): void {
  if (!is(element, "input", "textarea")) return edit(element, isForward ? "forwardDelete" : "delete", isForward ? "deleteContentForward" : "deleteContentBackward");
  const { text, start, end } = typedText(element);
  const isEmpty = start === end;
  const from = isEmpty && !isForward ? start - widthBefore(text, start) : start;
  const to = isEmpty && isForward ? Math.min(text.length, end + ((text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1)) : end;
  if (from < 0 || from === to) return;
  editField(element, from, to, "", isForward ? "deleteContentForward" : "deleteContentBackward");
}

const widthBefore = (value: string, at: number): number => (/[\ud800-\udbff][\udc00-\udfff]$/.test(value.slice(0, at)) ? 2 : 1);

/** Moves the caret like the keys Home, End and the arrows, or selects everything. */
export function moveCaret(element: Element, key: string): void {
  if (!is(element, "input", "textarea")) {
    const selection = invoke(documentOf(element), "getSelection");
    if (key === "all") selection?.selectAllChildren(element);
    else if (/^Arrow/.test(key)) selection?.modify("move", /Left|Up/.test(key) ? "backward" : "forward", /Up|Down/.test(key) ? "line" : "character");
    else if (key === "Home" || key === "End") selection?.modify("move", key === "Home" ? "backward" : "forward", "lineboundary");
    return;
  }
  const { text, start, end } = typedText(element);
  const { length } = text;
  const moveTo = (at: number) => selectText(element, at, at);
  if (key === "all") selectText(element, 0, length);
  else if (key === "Home" || key === "ArrowUp") moveTo(0);
  else if (key === "End" || key === "ArrowDown") moveTo(length);
  else if (key === "ArrowLeft") moveTo(start === end ? Math.max(0, start - 1) : start);
  else if (key === "ArrowRight") moveTo(start === end ? Math.min(length, end + 1) : end);
}

function editField(field: Field, start: number, end: number, text: string, inputType: string): void {
  const data = text || null;
  if (!dispatch(field, "beforeinput", { data, inputType })) return;
  const { text: before } = typedText(field);
  const next = before.slice(0, start) + text + before.slice(end);
  setNativeValue(field, field.type === "number" ? numberIn(next) : next);
  selectText(field, start + text.length, start + text.length, next);
  dispatch(field, "input", { data, inputType });
}

/** Returns the valid part of a number that is being typed: `1` of `1.`, for which the browser would set an empty value. */
const numberIn = (text: string): string => /^-?(\d+(\.\d+)?|\.\d+)(e[-+]?\d+)?/i.exec(text)?.[0] ?? "";
