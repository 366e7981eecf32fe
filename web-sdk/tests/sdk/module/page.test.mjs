// The module in a real browser.
import { describe, test } from "node:test";
import { inChromium } from "./chromium.mjs";

/** The additional browser flags of some suites. */
const FLAGS = { "webmcp.js": ["--enable-features=WebMCP"] };

const SUITES = [
  // The slowest suites are first.
  "page-effects", "person-only", "approval-dialog", "person-answers", "clobbered-page", "dialog",
  "ask", "ask-documents", "ask-looks", "capabilities", "clobbered-connection", "conversations", "conversions", "diagnosis", "hand-over", "one-per-page",
  "page-actions", "page-calls", "page-documents", "page-handles", "page-keys", "page-private", "page-rest", "page-secrets", "page-tree", "page-values",
  "pictures", "queries", "query-connections", "session", "token-function", "webmcp",
];

/** Maximum number of parallel browsers: a suite spends most of its time waiting. */
const BROWSERS = 2;

describe("the module in a browser", { concurrency: BROWSERS }, () => {
  for (const suite of SUITES.map((name) => `${name}.js`)) {
    test(suite, async (context) => {
      for (const { name, error } of await inChromium(suite, FLAGS[suite])) {
        await context.test(name, () => {
          if (error) throw new Error(error);
        });
      }
    });
  }
});
