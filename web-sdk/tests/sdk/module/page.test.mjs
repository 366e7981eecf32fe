// The module in a real browser.
import { test } from "node:test";
import { inChromium } from "./chromium.mjs";

for (const suite of ["capabilities.js", "conversions.js", "diagnosis.js", "dialog.js", "one-per-page.js", "pictures.js", "queries.js", "session.js"]) {
  test(suite, async (context) => {
    for (const { name, error } of await inChromium(suite)) {
      await context.test(name, () => {
        if (error) throw new Error(error);
      });
    }
  });
}
