/**
 * Assembles the order page: the form, which works without a bridge, and the panel. AI clients use page tools; the app
 * itself has no tools.
 *
 * URL parameter: `storage=none` stores the token only in this tab's memory.
 */

import { byId } from "./dom.js";
import { OrderForm } from "./order-form.js";
import { CallsPanel } from "./panel-calls.js";
import { ConnectionPanel } from "./panel-connection.js";
import { OffersPanel } from "./panel-offers.js";
import { enableThemeSwitch } from "./theme-switch.js";
import { TouchedMarks } from "./touched.js";

const SDK = "/sdk/mcp-web.js";
const PAGE_TOOLS = "/sdk/mcp-web-page.js";

new OrderForm();
enableThemeSwitch();
await connect();

async function connect() {
  let sdk, page;
  try {
    [sdk, page] = await Promise.all([import(SDK), import(PAGE_TOOLS)]);
  } catch {
    new ConnectionPanel().showMissingSdk(
      `The bridge has no SDK at ${SDK}. Build it with cargo xtask sdk and start the demo again. The form works by hand meanwhile.`,
    );
    return;
  }
  const mcpWeb = new sdk.McpWeb({
    name: "magazine-orders",
    description: "Order form of a small magazine.",
    version: "0.2.0",
    storage: new URLSearchParams(location.search).get("storage") === "none" ? "none" : "local",
  });
  // For experiments and tests.
  window.mcpWeb = mcpWeb;
  new ConnectionPanel(mcpWeb);
  new CallsPanel(mcpWeb, byId("calls-heading"));
  const marks = new TouchedMarks(byId("order"), mcpWeb);
  new OffersPanel([pageToolsOffer(mcpWeb, page, marks)]);
}

/** @returns {import("./panel-offers.js").Offer} */
function pageToolsOffer(mcpWeb, { enablePageTools }, marks) {
  return {
    kind: "tools",
    name: "page tools",
    description: "AI clients see the form as text, fill it in and press its buttons. The panel is not part of it.",
    badges: [{ text: "6 tools" }],
    add() {
      const tools = enablePageTools(mcpWeb, {
        root: byId("order"),
        pages: [{ pageId: "order", title: "Order copies", url: "/demo/order" }],
        onAction: (done) => marks.show(done),
      });
      return { registered: tools.ready, remove: () => tools.remove() };
    },
  };
}
