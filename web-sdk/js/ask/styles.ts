/**
 * The styles of the element. The custom properties `--mcp-web-…` of the page replace colours, font and corners. The colour
 * scheme and the font are inherited.
 */

const CSS = `
:host { display: block; }
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; }
.box {
  --accent: var(--mcp-web-accent, light-dark(#1f5fbf, #8ab4f8));
  --accent-text: var(--mcp-web-accent-text, light-dark(#fff, #10131a));
  --background: var(--mcp-web-background, light-dark(#fff, #23262b));
  --border: var(--mcp-web-border, light-dark(#8a9099, #80868f));
  --muted: var(--mcp-web-muted, light-dark(#575d66, #a9b0ba));
  --error: var(--mcp-web-error, light-dark(#b3261e, #ff8f86));
  --radius: var(--mcp-web-radius, 8px);
  --shade: color-mix(in srgb, currentColor 7%, var(--background));
  display: flex;
  flex-direction: column;
  gap: 0.6rem;
  color: var(--mcp-web-text, light-dark(#1b1e23, #eceff3));
  font: var(--mcp-web-font, inherit);
  text-align: start;
}
.frame { display: flex; flex-direction: column; border: 1px solid var(--border); border-radius: var(--radius); background: var(--background); overflow: hidden; }
.header { display: flex; justify-content: end; padding: 0.25rem; border-block-end: 1px solid var(--shade); }
.conversation { display: flex; flex-direction: column; gap: 1.1rem; max-height: var(--mcp-web-ask-max-height, min(32rem, 65vh)); padding: 0.8rem; overflow-y: auto; overscroll-behavior: contain; }
.turn, .answer { display: flex; flex-direction: column; gap: 0.6rem; min-width: 0; }
.turn > :first-child { align-self: end; max-width: 85%; padding: 0.4rem 0.8rem; border: 1px solid transparent; border-radius: var(--radius); background: var(--shade); }
p { margin: 0; }
.question p, .plain, .thinking p { white-space: pre-wrap; }
.question p, .text, .note, .failure, .details, pre { overflow-wrap: anywhere; }
.text { line-height: 1.5; }
.text :is(p, ul, ol, pre, blockquote, table, h1, h2, h3, h4, h5, h6, hr) { margin-block: 0 0.6em; }
.text > :last-child { margin-block-end: 0; }
.text :is(h1, h2, h3, h4, h5, h6) { font-size: 1.05em; line-height: 1.3; }
.text :is(ul, ol) { padding-inline-start: 1.5em; }
.text li > :is(ul, ol, p:last-child) { margin-block-end: 0; }
.text blockquote { margin-inline: 0; padding-inline-start: 0.8em; border-inline-start: 3px solid var(--border); }
.text table { display: block; width: fit-content; max-width: 100%; overflow-x: auto; border-collapse: collapse; }
.text :is(th, td) { padding: 0.2em 0.6em; border: 1px solid var(--border); }
.text img { max-width: 100%; }
a { color: var(--accent); }
pre { margin: 0; padding: 0.6rem; border-radius: calc(var(--radius) / 2); background: var(--shade); overflow-x: auto; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre code { font-size: inherit; }
.note, .thinking, .state, .details, details, .footer { color: var(--muted); font-size: 0.875em; }
.thinking p { margin-block-start: 0.3rem; padding-inline-start: 0.8em; border-inline-start: 2px solid var(--border); }
summary { width: fit-content; cursor: pointer; }
.calls { display: flex; flex-wrap: wrap; gap: 0.4rem; margin: 0; padding: 0; list-style: none; }
.call { max-width: 100%; padding: 0.15rem 0.6rem; border: 1px solid var(--border); border-radius: calc(var(--radius) / 2); }
.call summary { display: flex; flex-wrap: wrap; gap: 0.1rem 0.45rem; align-items: center; color: var(--mcp-web-text, light-dark(#1b1e23, #eceff3)); }
.call pre { margin-block: 0.3rem; max-height: 12rem; overflow: auto; }
.call[data-state="failed"] { border-color: var(--error); }
.call[data-state="cancelled"] code { text-decoration: line-through; }
.call[data-state="waiting"] { flex-basis: 100%; border: 2px solid var(--accent); padding: 0.5rem 0.7rem; }
.icon { inline-size: 0.9em; block-size: 0.9em; line-height: 0.9; text-align: center; flex: none; }
.call[data-state="done"] .icon::before { content: "✓" / ""; }
.call[data-state="failed"] .icon::before { content: "✕" / ""; color: var(--error); }
.call[data-state="cancelled"] .icon::before { content: "⊘" / ""; }
:is(.call[data-state="running"], .state) .icon { border: 2px solid var(--border); border-block-start-color: var(--accent); border-radius: 50%; animation: spin 0.9s linear infinite; }
.state { display: flex; gap: 0.5rem; align-items: center; }
.failure, .error { color: var(--error); }
.details { font-family: ui-monospace, monospace; }
.row { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; }
.form { display: flex; gap: 0.5rem; align-items: end; padding: 0.4rem; }
.conversation:not([hidden]) + .form { border-block-start: 1px solid var(--shade); }
.form label { flex: 1; min-width: 0; }
.input { display: block; width: 100%; min-height: 2.3rem; max-height: 10rem; padding: 0.4rem 0.5rem; border: 0; border-radius: calc(var(--radius) / 2); background: transparent; color: inherit; font: inherit; line-height: 1.5rem; resize: none; field-sizing: content; }
.input::placeholder { color: var(--muted); opacity: 1; }
@supports not (field-sizing: content) { .input { height: 3.8rem; } }
button { min-height: 2.1rem; padding: 0.2rem 0.8rem; border: 1px solid var(--border); border-radius: calc(var(--radius) * 0.75); background: var(--background); color: inherit; font: inherit; font-size: 0.9em; font-weight: 600; cursor: pointer; }
button:hover { background: var(--shade); }
button[aria-disabled="true"] { opacity: 0.55; cursor: default; }
.send { border-color: var(--accent); background: var(--accent); color: var(--accent-text); }
.send:hover { background: color-mix(in oklab, var(--accent) 85%, light-dark(#000, #fff)); }
:is(.clear, .copy) { min-height: 1.8rem; border-color: transparent; background: transparent; color: var(--muted); font-weight: 400; }
.copy:first-child { margin-inline-start: -0.8rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.conversation:focus-visible, .input:focus-visible { outline-offset: -2px; }
.hidden { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@keyframes spin { to { rotate: 1turn; } }
@media (prefers-reduced-motion: reduce) { .icon { animation: none !important; } }
@media (forced-colors: active) {
  .turn > :first-child { border-color: CanvasText; }
  .copy:first-child { margin: 0; }
  .icon { border-block-start-color: Highlight !important; }
}
`;

/** Returns a function that creates the style sheet of a text when it is first called. */
function sharedStyleSheet(css: string): () => CSSStyleSheet {
  let sheet: CSSStyleSheet | undefined;
  return () => {
    if (!sheet) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
    }
    return sheet;
  };
}

/** Returns the style sheet that all elements share. */
export const styles = sharedStyleSheet(CSS);
