/**
 * Locks by name between the processes that use one folder.
 *
 * A lock is a hard link to the file of its owner, so that it has its content from the first moment. The lock of a process
 * that has ended is stale. A process that breaks it first takes a second lock, whose name contains the stale owner's id,
 * and then checks again, so that it cannot remove a lock that was taken in between. The second lock can also become stale,
 * and is broken in the same way.
 */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { type FileFunctions, errorCode, removeFile } from "./file-functions.ts";
import { type LockOwner, newLockOwner, parseLockOwner, processState } from "./process-identity.ts";
import { StoreUnavailable } from "./store-errors.ts";

/**
 * How long to wait for a lock, in milliseconds, since the call or the last turn of another call of the same owner. A save
 * takes a few; more means that a process is stopped or a disk hangs.
 */
const LOCK_TIMEOUT_MS = 4_000;

/**
 * When the lock of a process on another machine is stale, in milliseconds since its last lock: its state is not visible.
 */
const FOREIGN_LOCK_MS = 60_000;

const OWNER_PREFIX = ".owner.";
const LOCK_PREFIX = ".lock.";

/** The locks of one owner in one folder. */
export class FolderLocks {
  readonly #files: FileFunctions;
  readonly #folder: string;
  readonly #owner: LockOwner = newLockOwner();
  /** For each lock that calls of this owner hold or wait for: their number, and when the last one released it. */
  readonly #turns = new Map<string, { calls: number; endedMs: number }>();

  constructor(files: FileFunctions, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /**
   * Runs the body while no other owner and no other call of this one holds the lock.
   *
   * @throws StoreUnavailable after 4 seconds in which no call of this owner ended.
   */
  async withLock<Result>(name: string, body: () => Promise<Result>): Promise<Result> {
    const turn = this.#turns.get(name) ?? { calls: 0, endedMs: 0 };
    this.#turns.set(name, turn);
    turn.calls += 1;
    const path = this.#path(LOCK_PREFIX, name);
    try {
      await this.#waitFor(name, path, turn);
      try {
        return await body();
      } finally {
        // The effect of the body remains. A lock that remains is reported by the next call that waits for it.
        await removeFile(this.#files, path).catch(() => {});
        turn.endedMs = performance.now();
      }
    } finally {
      turn.calls -= 1;
      if (turn.calls === 0) this.#turns.delete(name);
    }
  }

  async #waitFor(name: string, path: string, turn: { endedMs: number }): Promise<void> {
    const beganMs = performance.now();
    for (let wait = 1; !(await this.#take(path)); wait = Math.min(2 * wait, 32)) {
      if (await this.#breakIfStale(name)) continue;
      if (performance.now() > Math.max(beganMs, turn.endedMs) + LOCK_TIMEOUT_MS) throw new StoreUnavailable("another process uses the session for too long: nothing was stored; retry, and if it happens again look for a host that is stopped");
      await delay(wait * (0.5 + Math.random()));
    }
  }

  /** Removes leftovers in the folder of processes that have ended. */
  async removeLeftovers(names: string[]): Promise<void> {
    for (const name of names) {
      if (name.startsWith(LOCK_PREFIX)) await this.#breakIfStale(name.slice(LOCK_PREFIX.length));
      else if (name.startsWith(OWNER_PREFIX) && (await this.#staleOwner(join(this.#folder, name)))) await removeFile(this.#files, join(this.#folder, name));
    }
  }

  /** Removes the file of the owner. Held locks stay valid, because they are separate links. */
  async dispose(): Promise<void> {
    await removeFile(this.#files, this.#path(OWNER_PREFIX, this.#owner.id));
  }

  async #take(path: string): Promise<boolean> {
    const owner = this.#path(OWNER_PREFIX, this.#owner.id);
    try {
      await this.#files.link(owner, path);
      return true;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      if (errorCode(error) !== "ENOENT") throw error;
    }
    // The owner's file does not exist before the first lock, and after a process on another machine removed it as a
    // leftover.
    await this.#writeOwner(owner);
    return false;
  }

  async #writeOwner(path: string): Promise<void> {
    const unfinished = `${path}.${randomBytes(4).toString("hex")}`;
    try {
      const file = await this.#files.open(unfinished, "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify(this.#owner));
      } finally {
        await file.close();
      }
      await this.#files.rename(unfinished, path);
    } catch (error) {
      await removeFile(this.#files, unfinished).catch(() => {});
      throw error;
    }
  }

  /** Returns whether the lock was broken or no longer exists. */
  async #breakIfStale(name: string): Promise<boolean> {
    const path = this.#path(LOCK_PREFIX, name);
    const stale = await this.#staleOwner(path);
    if (!stale) return false;
    await this.withLock(`${name}.${stale}`, async () => {
      if ((await this.#staleOwner(path)) === stale) await removeFile(this.#files, path);
    });
    return true;
  }

  /** Returns the id of the owner in a file if its process has ended, otherwise `undefined`. */
  async #staleOwner(path: string): Promise<string | undefined> {
    let text: string;
    let changedAt: number;
    try {
      const file = await this.#files.open(path, "r");
      try {
        text = await file.readFile("utf8");
        // Creating or removing a link sets the time of the owner's file.
        changedAt = (await file.stat()).ctimeMs;
      } finally {
        await file.close();
      }
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
    const owner = parseLockOwner(text);
    const state = owner ? processState(owner) : "unknown";
    if (state === "running" || (state === "unknown" && Date.now() - changedAt < FOREIGN_LOCK_MS)) return undefined;
    return owner?.id ?? "damaged";
  }

  #path(prefix: string, name: string): string {
    return join(this.#folder, prefix + name);
  }
}
