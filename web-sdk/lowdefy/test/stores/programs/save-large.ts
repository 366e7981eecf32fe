/**
 * Saves a large session, then reads it, and prints the code and the message of the failure, and the read session.
 * Arguments: location, principal, session id.
 */

import process from "node:process";

import { openStore, SessionStoreError } from "../../../src/stores/index.ts";

const [location = "", principal = "", sessionId = ""] = process.argv.slice(2);
const store = await openStore(location, principal);
const session = await store.get(sessionId);
let failure: { code?: string; message?: string } = {};
try {
  await store.save({ ...session, saved: "x".repeat(100_000) });
} catch (error) {
  if (!(error instanceof SessionStoreError)) throw error;
  failure = { code: error.code, message: error.message };
}
const small = await store.save({ ...session, saved: "small" });
console.log(JSON.stringify({ ...failure, before: session.saved, revision: small.revision }));
await store.dispose();
