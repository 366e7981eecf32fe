// The script of actions that also runs in Chromium leads to the same state and requests without a browser.
import test from "node:test";

import { runScript } from "../run-script.mjs";
import { openSession, startData, startHost } from "./host.mjs";

for (const way of ["headlessById", "headlessByFind"]) {
  test(`the script, ${way}`, async (t) => {
    const data = await startData(t);
    const host = await startHost(t, { data });
    const { call } = await openSession(host);
    await runScript({ way, call, dataUrl: data.url });
  });
}
