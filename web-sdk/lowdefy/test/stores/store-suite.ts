/** The common behaviour of all stores. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { inspect } from "node:util";

import { MAX_SESSION_BYTES, openStore, type SessionStore, type StoreOptions } from "../../src/stores/index.ts";
import { failureOf, newPrincipal, newSession, runProgram, TestClock } from "./support.ts";

/** A location for stores, with operations of a test that bypass the store. */
export interface StorePlace {
  /** The value of `--store`. */
  location: () => string;
  /** Replaces the stored text of a session. */
  overwrite: (principal: string, sessionId: string, text: string) => Promise<void>;
}

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

export function describeStore(name: string, place: StorePlace): void {
  /** Runs a test with a store of a new principal, a set clock and the warnings. */
  function storeTest(title: string, body: (given: { store: SessionStore; principal: string; clock: TestClock; warnings: string[]; open: (changes?: StoreOptions) => Promise<SessionStore> }) => Promise<void>): void {
    test(title, async () => {
      const principal = newPrincipal();
      const clock = new TestClock();
      const warnings: string[] = [];
      const stores: SessionStore[] = [];
      const open = async (changes: StoreOptions = {}): Promise<SessionStore> => {
        const store = await openStore(place.location(), principal, { now: clock.now, warn: (text) => warnings.push(text), ...changes });
        stores.push(store);
        return store;
      };
      try {
        await body({ store: await open(), principal, clock, warnings, open });
      } finally {
        await Promise.all(stores.map((store) => store.dispose()));
      }
    });
  }

  describe(name, () => {
    storeTest("a created session is returned as stored", async ({ store, clock, open }) => {
      const given = newSession();
      const created = await store.create(given);
      assert.deepEqual(created, { version: 1, ...given, revision: 1, status: "active", createdAt: clock.time, updatedAt: clock.time });
      assert.deepEqual(await store.get(given.sessionId), created);
      assert.deepEqual(await (await open()).get(given.sessionId), created, "by another store");
    });

    storeTest("a session needs neither a description nor a saved state", async ({ store }) => {
      const { description: _, saved: __, ...given } = newSession();
      await store.create(given);
      const got = await store.get(given.sessionId);
      assert.ok(!("saved" in got) && !("description" in got), inspect(got));
    });

    storeTest("a save replaces the state and the page, and counts the revision", async ({ store, clock }) => {
      const created = await store.create(newSession());
      clock.time += HOUR_MS;
      const saved = await store.save({ ...created, pageId: "customers", saved: { state: [] } });
      assert.deepEqual(saved, { ...created, revision: 2, pageId: "customers", saved: { state: [] }, updatedAt: clock.time });
      assert.deepEqual(await store.get(created.sessionId), saved);
      const { saved: _, ...withoutState } = saved;
      await store.save(withoutState);
      assert.ok(!("saved" in (await store.get(created.sessionId))));
    });

    storeTest("sessions are listed without their state, the oldest first", async ({ store, clock }) => {
      assert.deepEqual(await store.list(), []);
      const first = await store.create(newSession({ name: "first" }));
      clock.time += 1;
      const second = await store.create(newSession({ name: "second" }));
      clock.time += 1;
      const { saved: _, ...changed } = await store.save(first);
      const { saved: __, ...unchanged } = second;
      assert.deepEqual(await store.list(), [changed, unchanged]);
    });

    storeTest("a closed session is unknown", async ({ store }) => {
      const session = await store.create(newSession());
      await store.close(session.sessionId);
      assert.deepEqual(await store.list(), []);
      await failureOf("SessionUnknown", store.get(session.sessionId));
      await failureOf("SessionUnknown", store.save(session));
      await failureOf("SessionUnknown", store.close(session.sessionId));
    });

    storeTest("an id can be used once", async ({ store }) => {
      const session = await store.create(newSession());
      await failureOf("SessionConflict", store.create(newSession({ sessionId: session.sessionId, name: "another" })));
      assert.equal((await store.get(session.sessionId)).name, session.name);
    });

    storeTest("ids that are not UUIDs are unknown", async ({ store }) => {
      const { sessionId } = await store.create(newSession());
      const ids = ["../../x", "..", "", "\0", `${sessionId}\0`, `${sessionId}\n`, sessionId.toUpperCase(), `../${sessionId}`, `{${sessionId}}`, sessionId.replace(/^(.{14})4/, "$15"), randomUUID().slice(1), "x".repeat(1e6), "*"];
      for (const id of ids) {
        for (const call of [store.get(id), store.close(id), store.save({ ...newSession(), sessionId: id, revision: 1, createdAt: 0 })]) {
          const { message } = await failureOf("SessionUnknown", call);
          assert.ok(message.length < 300 && !message.includes("../"), message);
        }
        await assert.rejects(store.create(newSession({ sessionId: id })), TypeError);
      }
      for (const id of [undefined, null, 7, {}, [sessionId]]) await failureOf("SessionUnknown", store.get(id as string));
      assert.equal((await store.list()).length, 1);
    });

    storeTest("a session that is not JSON is rejected", async ({ store }) => {
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      for (const changes of [{ saved: cycle }, { saved: 1n }, { name: 7 as never }, { pageId: undefined as never }, { name: "half \ud83e" }]) await assert.rejects(store.create(newSession(changes)), TypeError);
      assert.deepEqual(await store.list(), []);
    });

    storeTest("names such as __proto__ stay data", async ({ store }) => {
      const saved: unknown = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}');
      const { sessionId } = await store.create(newSession({ saved }));
      const got = await store.get(sessionId);
      assert.equal(JSON.stringify(got.saved), JSON.stringify(saved));
      assert.equal(({} as { admin?: boolean }).admin, undefined);
    });

    storeTest("a session expires 24 hours after its last save, and is gone 24 hours later", async ({ store, clock }) => {
      let session = await store.create(newSession());
      clock.time += DAY_MS - 1;
      session = await store.save(session);
      clock.time += DAY_MS - 1;
      assert.equal((await store.get(session.sessionId)).status, "active");
      clock.time += 1;
      await failureOf("SessionExpired", store.get(session.sessionId));
      await failureOf("SessionExpired", store.save(session));
      assert.deepEqual((await store.list()).map(({ sessionId, status }) => ({ sessionId, status })), [{ sessionId: session.sessionId, status: "expired" }]);
      clock.time += DAY_MS - 1;
      await store.sweep();
      assert.equal((await store.list()).length, 1);
      clock.time += 1;
      assert.deepEqual(await store.list(), [], "before a sweep");
      await failureOf("SessionUnknown", store.get(session.sessionId));
      await failureOf("SessionUnknown", store.save(session));
      await store.sweep();
      clock.time -= DAY_MS;
      assert.deepEqual(await store.list(), [], "removed by the sweep");
    });

    storeTest("an expired session can be closed", async ({ store, clock }) => {
      const { sessionId } = await store.create(newSession());
      clock.time += DAY_MS;
      await store.close(sessionId);
      assert.deepEqual(await store.list(), []);
    });

    storeTest("a sweep leaves active sessions", async ({ store, clock }) => {
      await store.create(newSession());
      clock.time += 1.5 * DAY_MS;
      const active = await store.create(newSession());
      clock.time += 0.5 * DAY_MS;
      await store.sweep();
      assert.deepEqual((await store.list()).map(({ sessionId }) => sessionId), [active.sessionId]);
      assert.deepEqual(await store.get(active.sessionId), active);
    });

    storeTest("the 51st session is rejected until one is closed or expired", async ({ store, clock }) => {
      const ids: string[] = [];
      for (let count = 0; count < 50; count++) ids.push((await store.create(newSession())).sessionId);
      const { message } = await failureOf("SessionLimit", store.create(newSession()));
      assert.match(message, /50 sessions .*close one/);
      await store.close(ids[0] ?? "");
      await store.create(newSession());
      await failureOf("SessionLimit", store.create(newSession()));
      clock.time += DAY_MS;
      await store.create(newSession());
      assert.equal((await store.list()).filter(({ status }) => status === "expired").length, 50);
    });

    storeTest("the limit holds with four processes", async ({ store, principal }) => {
      const ends = await Promise.all(Array.from({ length: 4 }, () => runProgram("create-sessions.ts", [place.location(), principal, "10", "25"])));
      const outcomes = ends.flatMap(({ stdout }) => stdout.trim().split("\n"));
      assert.equal(outcomes.filter((outcome) => outcome === "created").length, 10, outcomes.join(" "));
      assert.equal(outcomes.filter((outcome) => outcome === "SessionLimit").length, 90, outcomes.join(" "));
      assert.equal((await store.list()).length, 10);
    });

    storeTest("limits and expiry are options", async ({ open, clock }) => {
      const store = await open({ maxSessions: 1, expiryMs: 1000 });
      const { sessionId } = await store.create(newSession());
      await failureOf("SessionLimit", store.create(newSession()));
      clock.time += 1000;
      await failureOf("SessionExpired", store.get(sessionId));
      await store.create(newSession());
      for (const options of [{ maxSessions: 0 }, { expiryMs: -1 }, { maxSessions: Number.NaN }, { expiryMs: 1.5 }]) await assert.rejects(open(options), RangeError);
    });

    storeTest("the second of two writers gets a conflict", async ({ store, open }) => {
      const other = await open();
      const first = await store.create(newSession());
      const second = await other.get(first.sessionId);
      const saved = await store.save({ ...first, saved: "of the first" });
      const { message } = await failureOf("SessionConflict", other.save({ ...second, saved: "of the second" }));
      assert.match(message, /get the session again/);
      assert.deepEqual(await other.get(first.sessionId), saved);
      await other.save({ ...(await other.get(first.sessionId)), saved: "of the second" });
      await failureOf("SessionConflict", store.save(saved));
    });

    storeTest("only one of two simultaneous saves is stored", async ({ store, open }) => {
      const other = await open();
      for (let round = 0; round < 20; round++) {
        const session = await store.create(newSession());
        const results = await Promise.allSettled([store.save({ ...session, saved: 0 }), other.save({ ...session, saved: 1 }), store.save({ ...session, saved: 2 })]);
        const winners = results.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
        assert.equal(winners.length, 1, inspect(results));
        assert.deepEqual([(await other.get(session.sessionId)).saved], winners);
      }
    });

    storeTest("no save of four processes is lost", async ({ store, principal }) => {
      const { sessionId } = await store.create(newSession({ saved: 0 }));
      const ends = await Promise.all(Array.from({ length: 4 }, () => runProgram("count-up.ts", [place.location(), principal, sessionId, "50"])));
      assert.deepEqual(ends.map(({ code }) => code), [0, 0, 0, 0]);
      const { saved, revision } = await store.get(sessionId);
      assert.deepEqual({ saved, revision }, { saved: 200, revision: 201 });
    });

    storeTest("a corrupt session is expired, with one warning", async ({ store, principal, warnings, open }) => {
      const damaged = await store.create(newSession());
      const whole = await store.create(newSession());
      for (const text of ["{ not JSON", "", "null", "[]", "7", "{}", '{"version":1}', JSON.stringify({ ...whole, version: 1 }), JSON.stringify({ ...damaged, updatedAt: "now" })]) {
        await place.overwrite(principal, damaged.sessionId, text);
        warnings.length = 0;
        const opened = await open();
        const listed = await opened.list();
        assert.deepEqual(listed.map(({ sessionId, status }) => ({ sessionId, status })), [{ sessionId: damaged.sessionId, status: "expired" }, { sessionId: whole.sessionId, status: "active" }], text);
        await failureOf("SessionExpired", opened.get(damaged.sessionId));
        await failureOf("SessionExpired", opened.save(damaged));
        await opened.list();
        assert.equal(warnings.length, 1, warnings.join("\n"));
        assert.match(warnings[0] ?? "", new RegExp(`^session ${damaged.sessionId} is listed as expired`));
      }
      await store.close(damaged.sessionId);
      assert.deepEqual((await store.list()).map(({ sessionId }) => sessionId), [whole.sessionId]);
    });

    storeTest("a corrupt session does not count against the limit", async ({ open, principal }) => {
      const store = await open({ maxSessions: 1 });
      const { sessionId } = await store.create(newSession());
      await place.overwrite(principal, sessionId, "{");
      await store.create(newSession());
    });

    storeTest("a session of a newer version is expired, with a warning about the version", async ({ store, principal, warnings }) => {
      const session = await store.create(newSession());
      await place.overwrite(principal, session.sessionId, JSON.stringify({ ...session, version: 2, name: { en: "new" } }));
      const { message } = await failureOf("SessionExpired", store.get(session.sessionId));
      assert.match(message, /unreadable: close it/);
      assert.match(warnings.join(), /version 2, which is newer/);
    });

    storeTest("a session of 16 MiB is stored, and a larger one is not", async ({ store }) => {
      const session = await store.create(newSession({ saved: "" }));
      const rest = Buffer.byteLength(JSON.stringify({ ...session, status: undefined })) + 40;
      const saved = await store.save({ ...session, saved: "x".repeat(MAX_SESSION_BYTES - rest) });
      const { message } = await failureOf("SessionLimit", store.save({ ...saved, saved: "ü".repeat(MAX_SESSION_BYTES / 2) }));
      assert.match(message, /more than the limit of 16777216/);
      assert.equal((await store.get(session.sessionId)).saved, saved.saved);
      await failureOf("SessionLimit", store.create(newSession({ saved: "x".repeat(MAX_SESSION_BYTES) })));
    });

    storeTest("a principal cannot see sessions of another", async ({ store }) => {
      const { sessionId, ...rest } = await store.create(newSession());
      const other = await openStore(place.location(), newPrincipal());
      try {
        assert.deepEqual(await other.list(), []);
        await failureOf("SessionUnknown", other.get(sessionId));
        await failureOf("SessionUnknown", other.close(sessionId));
        await failureOf("SessionUnknown", other.save({ sessionId, ...rest }));
      } finally {
        await other.dispose();
      }
      await store.get(sessionId);
    });

    storeTest("an invalid principal is rejected", async () => {
      for (const principal of ["", "..", "../../x", "A".repeat(64), "a".repeat(63), `${"a".repeat(64)}\n`]) await assert.rejects(openStore(place.location(), principal), TypeError);
    });

    storeTest("a disposed store fails with a clear error, and its sessions stay", async ({ store, open }) => {
      const { sessionId } = await store.create(newSession());
      await store.dispose();
      await store.dispose();
      for (const call of [store.get(sessionId), store.list(), store.create(newSession()), store.close(sessionId), store.sweep()]) await failureOf("StoreUnavailable", call);
      await (await open()).get(sessionId);
    });
  });
}
