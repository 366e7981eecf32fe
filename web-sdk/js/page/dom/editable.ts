/** Text of editable elements, such as those of Quill, Lexical and ProseMirror. */

import { nextTask } from "./clock.ts";
import { dispatch } from "./dispatch.ts";
import { editableText } from "./value.ts";

/** Replaces the text of an editable element. */
export async function setEditableText(element: HTMLElement, text: string): Promise<void> {
  selectContent(element);
  // Editors read the selection when `selectionchange` comes, which is a task later.
  await nextTask();
  const { ownerDocument } = element;
  if (text === "") {
    if (editableText(element) !== "") ownerDocument.execCommand("delete");
  } else if (!insertLines(ownerDocument, text)) insertByEvents(element, text);
  dispatch(element, "change");
}

/** Inserts text where the selection is, as typing does. Returns whether the browser could. */
function insertLines(document: Document, text: string): boolean {
  return text.split(/\r?\n/).every((line, index) => (index === 0 || document.execCommand("insertParagraph")) && (!line || document.execCommand("insertText", false, line)));
}

/** Sets the text where the browser has no command for it. */
function insertByEvents(element: HTMLElement, text: string): void {
  if (!dispatch(element, "beforeinput", { data: text, inputType: "insertText" })) return;
  element.textContent = text;
  dispatch(element, "input", { data: text, inputType: "insertText" });
}

function selectContent(element: HTMLElement): void {
  const range = element.ownerDocument.createRange();
  range.selectNodeContents(element);
  const selection = element.ownerDocument.getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}
