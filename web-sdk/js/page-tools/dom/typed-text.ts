/**
 * The typed text of a field and its selection, including fields without a selection in the browser, such as those for
 * numbers.
 */

type Field = HTMLInputElement | HTMLTextAreaElement;

interface TypedText {
  /** The text, which is longer than the value while it is not yet a number, such as `1.` and `-`. */
  text: string;
  start: number;
  end: number;
}

/**
 * The texts of fields without a selection, with the value after the latest key. If the current value differs, the page has
 * set it.
 */
let drafts = new WeakMap<Field, TypedText & { value: string }>();

/** Returns the text of a field and its selection. If nothing was typed, the caret is at the end. */
export function typedText(field: Field): TypedText {
  const { selectionStart, selectionEnd, value } = field;
  if (selectionStart !== null) return { text: value, start: selectionStart, end: selectionEnd! };
  const draft = drafts.get(field);
  return draft?.value === value ? draft : { text: value, start: value.length, end: value.length };
}

/** Selects a part of the text of a field after its value was set. */
export function selectText(field: Field, start: number, end: number, text = typedText(field).text): void {
  if (field.selectionStart !== null) field.setSelectionRange(start, end);
  else drafts.set(field, { text, value: field.value, start, end });
}

/** Discards the selections that the browser does not store, because the focus moves. */
export function forgetTyped(): void {
  drafts = new WeakMap();
}
