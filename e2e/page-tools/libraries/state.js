// The state of the apps of this page, by key: a test checks this and not the document.
window.appState = {};

/** Writes the current state of an app. It must be plain data. */
export function report(key, value) {
  window.appState[key] = value;
}
