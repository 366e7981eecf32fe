/** Everything that the page offers to AI clients, with the functions that register it. */

import { h } from "./dom.js";
import { boardOverview } from "./overview.js";
import { boardPrompts } from "./prompts.js";
import { boardResources } from "./resources.js";
import { boardTools } from "./tools.js";

/**
 * @param mcpWeb
 * @param {import("./store.js").BoardStore} store
 * @returns {import("./panel-offers.js").Offer[]}
 */
export function boardOffers(mcpWeb, store) {
  const { board, card } = boardResources(store);
  const app = boardOverview(store);
  return [
    ...boardTools(store).map((tool) => offer("tools", tool, toolBadges(tool), () => mcpWeb.addTool(tool), inputOf(tool))),
    offer("tools", app, [{ text: "app" }, ...toolBadges(app)], () => mcpWeb.addApp(app), inputOf(app)),
    followable({ ...board, name: board.uri }, (watched) => mcpWeb.addResource({ ...board, ...watched })),
    offer("resources", { ...card, name: card.uriTemplate }, [{ text: "template" }], () => mcpWeb.addResourceTemplate(card)),
    ...boardPrompts(store).map((prompt) => offer("prompts", prompt, [{ text: argumentsOf(prompt) }], () => mcpWeb.addPrompt(prompt))),
  ];
}

const offer = (kind, { name, description }, badges, add, detail) => ({ kind, name, description, badges, add, detail });

/** A resource that shows whether a client is subscribed to it. */
function followable(resource, add) {
  const followed = h("span", { className: "badge is-followed", hidden: true }, "followed");
  const show = (by) => { followed.hidden = !by; };
  const watched = { onSubscribe: () => show(true), onUnsubscribe: () => show(false) };
  return offer("resources", resource, [{ text: resource.mimeType }, followed], () => add(watched));
}

const inputOf = ({ inputSchema }) => ({ title: "Input schema", value: inputSchema });

const argumentsOf = (prompt) => prompt.arguments.map(({ name }) => name).join(", ");

function toolBadges({ annotations: { readOnlyHint, destructiveHint, idempotentHint } }) {
  if (readOnlyHint) return [{ text: "read-only" }];
  const kind = destructiveHint ? { text: "destructive", destructive: true } : { text: "writes" };
  return idempotentHint ? [kind, { text: "idempotent" }] : [kind];
}
