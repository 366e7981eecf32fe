/** A page that sends a query, for the tests of queries. */

import { assert } from "./assert.js";
import { Bridge } from "./bridge.js";

export const text = (text) => ({ type: "text", text });

/** A page that has sent a query, and the messages that the bridge received. */
export async function asking(options = { prompt: "?" }, more, pageOptions) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page(pageOptions);
  const query = mcpWeb.query(options, more);
  return { bridge, mcpWeb, query, asked: await nextQuery(bridge) };
}

/** Returns the next query that a page sends, without its current time. */
export async function nextQuery(bridge) {
  const { localTime, ...asked } = await bridge.next("query");
  const [, time] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d)\[[\w/+-]+\]$/.exec(localTime);
  assert(Math.abs(Date.parse(time) - Date.now()) < 60_000, localTime);
  return asked;
}

/** Sends a message of the bridge about the query. */
export const say = (bridge, { uuid }, type, fields) => bridge.say({ type: `query_${type}`, uuid, ...fields });
export const progress = (bridge, query, content, number) => say(bridge, query, "progress", { content, number });
export const complete = (bridge, query, fields) => say(bridge, query, "complete", { toolCalls: [], ...fields });

export async function read(query) {
  const events = [];
  for await (const event of query) events.push(event);
  return events;
}

/** Cuts the connection and accepts the page again. */
export async function reconnect(bridge, meanwhile = () => {}, bridgeId) {
  bridge.breakConnection();
  await meanwhile();
  await bridge.accept(bridgeId);
}

/** Waits until pending work has run. */
export const settled = () => new Promise((resolve) => setTimeout(resolve));
