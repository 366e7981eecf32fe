/** Style sheets that all elements of a kind share. */

/** Returns a function that makes the style sheet of a text when it is called for the first time. */
export function sharedStyleSheet(css: string): () => CSSStyleSheet {
  let sheet: CSSStyleSheet | undefined;
  return () => {
    if (!sheet) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
    }
    return sheet;
  };
}
