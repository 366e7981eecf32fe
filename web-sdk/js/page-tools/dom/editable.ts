/** Text of editable elements, such as those of Quill, Lexical and ProseMirror. */

import { invoke } from "../../dom/native.ts";
import { nextTask } from "../../mcp-web/next-task.ts";
import { dispatch } from "./dispatch.ts";
import { documentOf } from "./native.ts";
import { editableText } from "./value.ts";

/** Replaces the text of an editable element. */
export async function setEditableText(element: HTMLElement, text: string): Promise<void> {
  selectContent(element);
  // Editors read the selection when `selectionchange` fires, which is a task later.
  await nextTask();
  if (text === "") {
    if (editableText(element) !== "") edit(element, "delete", "deleteContentBackward");
  } else {
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      if (index > 0) edit(element, "insertParagraph", "insertParagraph");
      if (line) edit(element, "insertText", "insertText", line);
    }
  }
  dispatch(element, "change");
}

/** Edits the selection. Editors that edit by themselves cancel the event; the browser's command does not fire it. */
export function edit(element: Element, command: string, inputType: string, data: string | null = null): void {
  if (dispatch(element, "beforeinput", { data, inputType })) invoke(documentOf(element), "execCommand", command, false, data ?? undefined);
}

function selectContent(element: HTMLElement): void {
  const range = invoke(documentOf(element), "createRange");
  range.selectNodeContents(element);
  const selection = invoke(documentOf(element), "getSelection");
  selection?.removeAllRanges();
  selection?.addRange(range);
}
