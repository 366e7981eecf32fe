// The person in front of a page: their clicks and keys come from the browser, which marks them as trusted.
import { connect } from "./devtools.mjs";

/** The codes of keys, and the texts that they type. */
const KEYS = { Enter: [13, "\r"], Escape: [27], Tab: [9], " ": [32, " "] };
const SHIFT = 8;

/** Performs the requests of a page to `personCall()`, and calls `personDone()` afterwards. */
export async function serve(browser, title) {
  const call = await connect(browser, title, async (method, { payload } = {}) => {
    if (method !== "Runtime.bindingCalled") return;
    const { id, kind, ...fields } = JSON.parse(payload);
    await ACTIONS[kind](call, fields);
    await call("Runtime.evaluate", { expression: `personDone(${id})` }).catch(() => {});
  });
  await call("Emulation.setFocusEmulationEnabled", { enabled: true });
  await call("Runtime.enable");
  await call("Runtime.addBinding", { name: "personCall" });
  return call;
}

const ACTIONS = {
  async click(call, { x, y }) {
    for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) {
      await call("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1 });
    }
  },
  async press(call, { key, isShifted, isHeld }) {
    const [code, text] = KEYS[key];
    const fields = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: code, modifiers: isShifted ? SHIFT : 0 };
    await call("Input.dispatchKeyEvent", { type: "keyDown", autoRepeat: isHeld, ...fields, ...(text && { text }) });
    await call("Input.dispatchKeyEvent", { type: "keyUp", ...fields });
  },
  /** Brings another tab to the front. */
  hide: (call) => call("Emulation.setFocusEmulationEnabled", { enabled: false }).then(() => call("Target.createTarget", { url: "about:blank" })),
  write: (call, { text }) => call("Input.insertText", { text }),
};
