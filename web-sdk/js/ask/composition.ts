/** The composition of characters, as in Chinese, Japanese and Korean. */

/** The `keyCode` of all keys of a composition. */
const COMPOSITION_KEY_CODE = 229;

/**
 * Returns whether a key belongs to the composition of a character: Enter ends one, and Escape cancels one. In Safari, the
 * key that ends a composition comes after it, and only its `keyCode` says so.
 */
export const isComposing = ({ isComposing, keyCode }: KeyboardEvent): boolean => isComposing || keyCode === COMPOSITION_KEY_CODE;
