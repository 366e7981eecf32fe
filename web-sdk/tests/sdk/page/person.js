/** The person in front of the tests. Their actions come from the browser, requested from `../module/person.mjs`. */

const pending = new Map();
let last = 0;

globalThis.personDone = (id) => pending.get(id)();

const ask = (kind, fields) =>
  new Promise((resolve) => {
    pending.set(++last, resolve);
    personCall(JSON.stringify({ id: last, kind, ...fields }));
  });

/** Clicks the centre of an element. */
export function click(element) {
  element.scrollIntoView({ block: "nearest", behavior: "instant" });
  const { x, y, width, height } = element.getBoundingClientRect();
  return ask("click", { x: x + width / 2, y: y + height / 2 });
}

/** Presses a key where the focus is. A key that is held is only repeated. */
export const press = (key, isShifted = false, isHeld = false) => ask("press", { key, isShifted, isHeld });

/** Types a text where the focus is. */
export const write = (text) => ask("write", { text });

/** Looks at another tab. */
export async function hide() {
  await ask("hide");
  while (!document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

/**
 * Returns the dialog that asks the person, of a given kind or any. It is in a closed shadow root, which `page.html` has
 * recorded.
 */
export const surface = (kind) => {
  const host = document.querySelector(kind ? `[data-mcp-web=${kind}]` : "[data-mcp-web]");
  return host && closedRoots.get(host)?.querySelector("dialog[open]");
};

/** Waits until a dialog accepts answers: its button is grey until then. */
export const isReady = (dialog) => Promise.allSettled(dialog.getAnimations({ subtree: true }).map(({ finished }) => finished));

/**
 * Answers as soon as a dialog accepts answers, and again while it is open: a dialog that has just come to the front again
 * accepts none for a moment, but can be closed by Escape.
 */
async function answer(dialog, act) {
  for (let tries = 0; tries < 2 && dialog.isConnected; tries++) {
    while (dialog.isConnected && !dialog.open) await new Promise((resolve) => requestAnimationFrame(resolve));
    await isReady(dialog);
    if (dialog.isConnected) await act();
  }
}

/** Clicks a button of a dialog. */
export const use = (button) => answer(button.closest("dialog"), () => button.isConnected && click(button));

/** Presses a key in a dialog. */
export const pressIn = (dialog, key) => answer(dialog, () => press(key));

/** Runs a function in the handler of a click by the person, and returns its result. */
export async function byPerson(run) {
  const button = document.body.appendChild(document.createElement("button"));
  const { promise, resolve, reject } = Promise.withResolvers();
  button.textContent = "Run";
  button.onclick = async () => {
    try {
      resolve(await run());
    } catch (error) {
      reject(error);
    }
  };
  await click(button);
  button.remove();
  return promise;
}
