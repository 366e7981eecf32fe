/**
 * The board as an MCP App: a host that supports it (SEP-1865) shows `overview.html` beside the conversation. It may load
 * pictures from the board's origin, but make no connections.
 */

import { isoDate } from "./dates.js";
import { summary, summaryText } from "./described.js";
import { READS } from "./hints.js";
import { object, summary as summarySchema } from "./schemas.js";

/** A definition for `mcpWeb.addApp`. @param {import("./store.js").BoardStore} store */
export function boardOverview(store) {
  return {
    name: "board_overview",
    title: "Board overview",
    description: "Shows the person how the board stands: a chart of the columns and what is overdue or due next. The person can finish cards in it.",
    inputSchema: object({}),
    outputSchema: object(
      { ...summarySchema.properties, board: { type: "string", description: "Where the board is open." } },
      [...summarySchema.required, "board"],
    ),
    annotations: READS,
    url: "/demo/overview.html",
    csp: { resourceDomains: [location.origin] },
    prefersBorder: true,
    handler: () => {
      const figures = summary(store.board, isoDate(new Date()));
      return {
        content: [{ type: "text", text: summaryText(figures) }],
        structuredContent: { ...figures, board: location.origin },
      };
    },
  };
}
