/** A page that asks, for the tests of queries. */

import { assert } from "./assert.js";
import { Bridge } from "./bridge.js";

export const text = (text) => ({ type: "text", text });

/** A page that has asked, and what the bridge has heard. */
export async function asking(options = { prompt: "?" }, more, pageOptions) {
  const bridge = new Bridge();
  const mcpWeb = await bridge.page(pageOptions);
  const query = mcpWeb.query(options, more);
  return { bridge, mcpWeb, query, asked: await nextQuery(bridge) };
}

/** Returns the next query that a page sends, without its time, which is the present. */
export async function nextQuery(bridge) {
  const { localTime, ...asked } = await bridge.next("query");
  const [, time] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d)\[[\w/+-]+\]$/.exec(localTime);
  assert(Math.abs(Date.parse(time) - Date.now()) < 60_000, localTime);
  return asked;
}

/** The bridge says something of the query. */
export const say = (bridge, { uuid }, type, fields) => bridge.say({ type: `query_${type}`, uuid, ...fields });
export const progress = (bridge, query, content, number) => say(bridge, query, "progress", { content, number });
export const complete = (bridge, query, fields) => say(bridge, query, "complete", { toolCalls: [], ...fields });

export async function read(query) {
  const events = [];
  for await (const event of query) events.push(event);
  return events;
}

/** Cuts the connection and lets the page in again. */
export async function reconnect(bridge, meanwhile = () => {}, bridgeId) {
  bridge.breakConnection();
  await meanwhile();
  await bridge.accept(bridgeId);
}

/** What has been begun has come so far. */
export const settled = () => new Promise((resolve) => setTimeout(resolve));
