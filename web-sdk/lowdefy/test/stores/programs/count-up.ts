/**
 * Increments a number in a session repeatedly, as one of several writers, and prints a line after each save. Arguments:
 * location, principal, session id, count.
 */

import process from "node:process";

import { openStore, SessionConflict } from "../../../src/stores/index.ts";

const [location = "", principal = "", sessionId = "", count] = process.argv.slice(2);
const store = await openStore(location, principal);
for (let added = 0; added < Number(count); ) {
  const session = await store.get(sessionId);
  try {
    await store.save({ ...session, saved: (session.saved as number) + 1 });
    added++;
    console.log(added);
  } catch (error) {
    if (!(error instanceof SessionConflict)) throw error;
  }
}
await store.dispose();
