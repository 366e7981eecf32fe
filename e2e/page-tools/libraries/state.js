// What the apps of this page know, by key: a test checks this and not the document.
window.appState = {};

/** Writes what an app knows now. It must be plain data. */
export function report(key, value) {
  window.appState[key] = value;
}
