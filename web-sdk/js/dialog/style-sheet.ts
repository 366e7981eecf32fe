/** Style sheets that all elements of a kind share. */

/** Returns a function that creates the style sheet of a text when it is first called. */
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
