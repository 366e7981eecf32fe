/**
 * The dialog's styles. The custom properties `--mcp-web-…` of the page replace colours, font and corners. The colour scheme
 * is inherited from the host element.
 *
 * Everything with text has the background of the page if it is set, because text in the page's colour could be unreadable
 * on another background.
 */

/** The style sheet of all dialogs, as a text: a sheet belongs to one document. */
export const CSS = `
dialog {
  --accent: var(--mcp-web-accent, light-dark(#1f5fbf, #8ab4f8));
  --border: var(--mcp-web-border, light-dark(#8a9099, #80868f));
  --muted: var(--mcp-web-muted, light-dark(#575d66, #a9b0ba));
  --error: var(--mcp-web-error, light-dark(#b3261e, #ff8f86));
  box-sizing: border-box;
  width: min(30rem, calc(100% - 2rem));
  max-height: min(44rem, calc(100% - 2rem));
  padding: 1.25rem 1.5rem;
  border: 1px solid var(--mcp-web-border, light-dark(#d5d9df, #454b54));
  border-radius: var(--mcp-web-radius, 12px);
  background: var(--background);
  color: var(--mcp-web-text, light-dark(#1b1e23, #eceff3));
  font: var(--mcp-web-font, 400 15px/1.45 system-ui, sans-serif);
  text-align: start;
  box-shadow: 0 12px 40px rgb(0 0 0 / 0.3);
}
dialog { --background: var(--mcp-web-background, light-dark(#fff, #23262b)); --shade: light-dark(rgb(0 0 0 / 0.18), rgb(0 0 0 / 0.6)); }
dialog[open] { display: flex; flex-direction: column; visibility: visible; }
dialog::backdrop { background: rgb(0 0 0 / 0.45); }
header { display: flex; align-items: center; gap: 1rem; }
h2 { flex: 1; margin: 0; font-size: 1.1rem; line-height: 1.3; overflow-wrap: anywhere; }
p { margin: 0; overflow-wrap: anywhere; }
#message { margin: 0.6rem 0 1rem; white-space: pre-wrap; max-height: 30vh; overflow: auto; flex: none; }
.fields { overflow: auto; flex: 0 1 auto; min-height: 4rem; display: grid; gap: 1rem; margin: 0 -1.5rem; padding: 0.2rem 1.5rem; }
.fields {
  background:
    linear-gradient(var(--background) 40%, transparent) top / 100% 1.5rem local,
    linear-gradient(transparent, var(--background) 60%) bottom / 100% 1.5rem local,
    linear-gradient(var(--shade), transparent) top / 100% 0.5rem scroll,
    linear-gradient(transparent, var(--shade)) bottom / 100% 0.5rem scroll,
    var(--background);
  background-repeat: no-repeat;
}
.field { display: grid; gap: 0.25rem; }
label, legend { font-weight: 600; padding: 0; }
.choice { display: flex; gap: 0.55rem; align-items: baseline; }
.choice label { font-weight: 400; }
fieldset { margin: 0; padding: 0; border: 0; display: grid; gap: 0.3rem; min-width: 0; }
legend { margin-bottom: 0.25rem; }
input:not([type="checkbox"]), select, textarea {
  box-sizing: border-box;
  width: 100%;
  min-height: 2.4rem;
  padding: 0.4rem 0.6rem;
  border: 1px solid var(--border);
  border-radius: 7px;
  background: var(--mcp-web-background, light-dark(#fff, #1a1c20));
  color: inherit;
  font: inherit;
}
textarea { resize: vertical; }
input[type="checkbox"] { inline-size: 1.05rem; block-size: 1.05rem; margin: 0; flex: none; translate: 0 0.15rem; accent-color: var(--accent); }
[aria-invalid="true"]:not(fieldset) { border-color: var(--error); }
.hint { color: var(--muted); font-size: 0.875rem; }
.error, .required-mark { color: var(--error); }
.error { font-size: 0.875rem; }
.error:empty { display: none; }
.fields:focus-visible { outline-offset: -2px; }
dl { display: grid; gap: 0.8rem; margin: 0; }
dt { font-weight: 600; overflow-wrap: anywhere; }
dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
:is(.url, .value) { padding: 0.6rem 0.75rem; border-radius: 7px; background: var(--mcp-web-background, light-dark(#f1f3f6, #1a1c20)); font-family: ui-monospace, monospace; font-size: 0.875rem; }
.url { max-height: 10rem; overflow: auto; }
.buttons { display: flex; flex-wrap: wrap; justify-content: end; gap: 0.6rem; margin-top: 1.25rem; }
button {
  min-height: 2.4rem;
  padding: 0.4rem 1.1rem;
  border: 1px solid var(--border);
  border-radius: 7px;
  background: transparent;
  color: inherit;
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button:hover { background: color-mix(in srgb, currentColor 6%, transparent); }
.accept { border-color: var(--accent); background: var(--accent); color: var(--mcp-web-accent-text, light-dark(#fff, #10131a)); }
/* It takes no answer in the first half second. The animation begins with a frame, which may be older than the dialog. */
.accept { animation: wait 0.6s; }
@keyframes wait { from, 99% { opacity: 0.4; } }
details { margin-top: 0.8rem; flex: none; max-height: 30vh; overflow: auto; }
summary { cursor: pointer; color: var(--muted); font-size: 0.8125rem; overflow-wrap: anywhere; }
.accept:hover { background: color-mix(in oklab, var(--accent) 82%, light-dark(#000, #fff)); }
.close { min-height: 2rem; min-width: 2rem; padding: 0; border-color: transparent; font-size: 1.3rem; font-weight: 400; line-height: 1; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
footer { margin-top: 1rem; color: var(--muted); font-size: 0.8125rem; }
`;
