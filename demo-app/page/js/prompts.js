/** Prompts for people to start from in their AI client. */

import { LABELS } from "./board.js";
import { isoDate } from "./dates.js";
import { cardLine } from "./described.js";

/** Definitions for `mcpWeb.addPrompt`. @param {import("./store.js").BoardStore} store */
export function boardPrompts(store) {
  return [
    {
      name: "plan_my_day",
      title: "Plan my day",
      description: "Picks the cards for today, most urgent first.",
      arguments: [
        {
          name: "label",
          title: "Kind of work",
          description: "Only cards of this kind: words, pictures, print or post.",
          complete: (start) => LABELS.map(({ id }) => id).filter((id) => id.startsWith(start.toLowerCase())),
        },
        { name: "hours", title: "Hours", description: "How many hours there are today, for example 3." },
      ],
      get: ({ label, hours }) => {
        const today = isoDate(new Date());
        const open = store.board.cards.filter((card) => card.column !== "done" && (!label || card.label === label));
        return {
          description: `${open.length} open cards`,
          messages: [
            `Today is ${today}${hours ? `, and I have ${hours} hours` : ""}. Plan my day with these cards of my board. `
              + "Begin with what is overdue, then what is due next, then what is in progress. "
              + "Say what you would leave for tomorrow. Move the cards that I should start with to “In progress”, once I agree.",
            open.map((card) => cardLine(card, today)).join("\n") || "There are no open cards.",
          ],
        };
      },
    },
  ];
}
