/** What is typed in a field, and what is selected of it: also in fields for which the browser has no selection, such as those of numbers. */

type Field = HTMLInputElement | HTMLTextAreaElement;

interface TypedText {
  /** The text, which is longer than the value as long as it is no number yet, such as `1.` and `-`. */
  text: string;
  start: number;
  end: number;
}

/** Of fields without a selection. The value is that after the last key: if it is another one now, the page has set it. */
let drafts = new WeakMap<Field, TypedText & { value: string }>();

/** Returns the text of a field, and what is selected. Without anything typed, the caret is at the end. */
export function typedText(field: Field): TypedText {
  const { selectionStart, selectionEnd, value } = field;
  if (selectionStart !== null) return { text: value, start: selectionStart, end: selectionEnd! };
  const draft = drafts.get(field);
  return draft?.value === value ? draft : { text: value, start: value.length, end: value.length };
}

/** Selects a part of the text of a field, whose value is set. */
export function selectText(field: Field, start: number, end: number, text = typedText(field).text): void {
  if (field.selectionStart !== null) field.setSelectionRange(start, end);
  else drafts.set(field, { text, value: field.value, start, end });
}

/** Forgets what is selected where the browser does not know it: the focus moves. */
export function forgetTyped(): void {
  drafts = new WeakMap();
}
