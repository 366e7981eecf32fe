/** Typing into fields, at the caret. */

import { dispatch } from "./dispatch.ts";
import { edit } from "./editable.ts";
import { is } from "./flat-tree.ts";
import { setNativeValue } from "./set-value.ts";

type Field = HTMLInputElement | HTMLTextAreaElement;

/** Whether a key of text goes into an element. */
export function isTextField(element: Element): boolean {
  if (is(element, "input")) return /^(text|search|url|tel|email|password|number)$/.test(element.type) && !element.readOnly;
  return is(element, "textarea") ? !element.readOnly : (element as HTMLElement).isContentEditable === true;
}

/** Inserts text at the caret, in place of what is selected. */
export function insertText(element: Element, text: string): void {
  if (!is(element, "input", "textarea")) return edit(element, "insertText", "insertText", text);
  const { maxLength, value } = element;
  const [start, end] = selectionOf(element);
  if (maxLength >= 0 && value.length - (end - start) + text.length > maxLength) return;
  editField(element, start, end, text, text === "\n" ? "insertLineBreak" : "insertText");
}

/** Deletes what is selected, or the character before or after the caret. */
export function deleteText(element: Element, isForward: boolean): void {
  if (!is(element, "input", "textarea")) return edit(element, isForward ? "forwardDelete" : "delete", isForward ? "deleteContentForward" : "deleteContentBackward");
  const [start, end] = selectionOf(element);
  const isEmpty = start === end;
  const from = isEmpty && !isForward ? start - widthBefore(element.value, start) : start;
  const to = isEmpty && isForward ? end + (element.value.codePointAt(end) ?? 0 > 0xffff ? 2 : 1) : end;
  if (from < 0 || from === to) return;
  editField(element, from, Math.min(to, element.value.length), "", isForward ? "deleteContentForward" : "deleteContentBackward");
}

const widthBefore = (value: string, at: number): number => (/[\ud800-\udbff][\udc00-\udfff]$/.test(value.slice(0, at)) ? 2 : 1);

/** Moves the caret as the keys Home, End and the arrows do, or selects all. */
export function moveCaret(element: Element, key: string): void {
  if (!is(element, "input", "textarea")) {
    const selection = element.ownerDocument.getSelection();
    if (key === "all") selection?.selectAllChildren(element);
    else if (/^Arrow/.test(key)) selection?.modify("move", /Left|Up/.test(key) ? "backward" : "forward", /Up|Down/.test(key) ? "line" : "character");
    else if (key === "Home" || key === "End") selection?.modify("move", key === "Home" ? "backward" : "forward", "lineboundary");
    return;
  }
  if (element.selectionStart === null) return;
  const { length } = element.value;
  const [start, end] = selectionOf(element);
  if (key === "all") element.select();
  else if (key === "Home" || key === "ArrowUp") element.setSelectionRange(0, 0);
  else if (key === "End" || key === "ArrowDown") element.setSelectionRange(length, length);
  else if (key === "ArrowLeft") element.setSelectionRange(...twice(start === end ? Math.max(0, start - 1) : start));
  else if (key === "ArrowRight") element.setSelectionRange(...twice(start === end ? Math.min(length, end + 1) : end));
}

const twice = (at: number): [number, number] => [at, at];

/** Returns what is selected. Fields without a selection, such as those of numbers, are edited at their end. */
function selectionOf(field: Field): [start: number, end: number] {
  const { selectionStart, selectionEnd, value } = field;
  return [selectionStart ?? value.length, selectionEnd ?? value.length];
}

function editField(field: Field, start: number, end: number, text: string, inputType: string): void {
  const data = text || null;
  if (!dispatch(field, "beforeinput", { data, inputType })) return;
  const hasCaret = field.selectionStart !== null;
  setNativeValue(field, field.value.slice(0, start) + text + field.value.slice(end));
  if (hasCaret) field.setSelectionRange(start + text.length, start + text.length);
  dispatch(field, "input", { data, inputType });
}
