// The module in a real browser.
import { describe, test } from "node:test";
import { inChromium } from "./chromium.mjs";

/** The flags of the browser for suites that need some. */
const FLAGS = { "webmcp.js": ["--enable-features=WebMCP"] };

const SUITES = [
  // Those that take longest are first.
  "page-effects", "person-only", "approval-dialog", "person-answers", "clobbered-page", "dialog",
  "ask", "ask-documents", "ask-looks", "capabilities", "clobbered-connection", "conversations", "conversions", "diagnosis", "hand-over", "one-per-page",
  "page-actions", "page-calls", "page-documents", "page-handles", "page-keys", "page-private", "page-rest", "page-secrets", "page-tree", "page-values",
  "pictures", "queries", "query-connections", "session", "token-function", "webmcp",
];

/** How many browsers run at a time: most of a suite is waiting. */
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
