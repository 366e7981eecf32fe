/**
 * Creates sessions until the count is reached, and prints the outcome of each. Arguments: location, principal, limit,
 * count.
 */

import { randomUUID } from "node:crypto";
import process from "node:process";

import { openStore, SessionStoreError } from "../../../src/stores/index.ts";

const [location = "", principal = "", limit, count] = process.argv.slice(2);
const store = await openStore(location, principal, { maxSessions: Number(limit) });
for (let created = 0; created < Number(count); created++) {
  try {
    await store.create({ sessionId: randomUUID(), name: "one of many", pageId: "orders" });
    console.log("created");
  } catch (error) {
    console.log(error instanceof SessionStoreError ? error.code : String(error));
  }
}
await store.dispose();
