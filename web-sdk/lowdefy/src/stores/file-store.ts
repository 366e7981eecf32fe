/** A session store in files: `<folder>/<principal>/<sessionId>.json`. */

import { errorCode, type FileFunctions, NODE_FILES, removeFile } from "./file-functions.ts";
import { flushFolder, replaceFile } from "./atomic-write.ts";
import { FolderLocks } from "./folder-locks.ts";
import { readSessionFile, type SessionFile } from "./session-file.ts";
import { openFolder, removeUnfinished, sessionIdsIn, sessionPath } from "./session-folder.ts";
import { checkSessionId } from "./session-id.ts";
import { type ChangedSession, MAX_SESSION_BYTES, type NewSession, type SessionStore, type StoredSessionSummary, type StoredSession, phaseAt } from "./session-store.ts";
import { byAge, encodeJson, recordOf, type SessionRecord, sessionFrom, summaryFrom, unreadableSummary } from "./session-text.ts";
import { sessionChanged, sessionExists, sessionExpired, SessionStoreError, sessionTooLarge, sessionUnknown, sessionUnreadable, storeDisposed, StoreUnavailable, tooManySessions } from "./store-errors.ts";
import { settingsFrom, type StoreOptions, type StoreSettings } from "./store-options.ts";
import { SummaryCache } from "./summary-cache.ts";

/** The options of a file store. */
export interface FileStoreOptions extends StoreOptions {
  /** The functions of the file system: Node's by default; tests pass others. */
  files?: FileFunctions | undefined;
}

/** Held while a session is created, so that two processes count one at a time. No session has this id. */
const CREATE_LOCK = "create";

/**
 * Opens the store of a principal in a folder, which is created if it is missing.
 *
 * The folder is for processes of one machine. It needs hard links, which every file system except FAT supports. A process
 * on another machine, or in another container, counts as ended one minute after its last save.
 * @param principal the result of `principalOfToken`.
 * @throws StoreUnavailable if the folder cannot be used.
 */
export async function openFileStore(folder: string, principal: string, options: FileStoreOptions = {}): Promise<SessionStore> {
  const files = options.files ?? NODE_FILES;
  const settings = settingsFrom(options);
  return await reportFileErrors("opened", async () => {
    const own = await openFolder(files, folder, principal);
    const locks = new FolderLocks(files, own);
    await locks.removeLeftovers(await removeUnfinished(files, own));
    return new FileStore(files, own, locks, settings);
  });
}

class FileStore implements SessionStore {
  readonly #files: FileFunctions;
  readonly #folder: string;
  readonly #locks: FolderLocks;
  readonly #settings: StoreSettings;
  readonly #summaries: SummaryCache;
  readonly #warned = new Set<string>();
  #disposed = false;

  constructor(files: FileFunctions, folder: string, locks: FolderLocks, settings: StoreSettings) {
    this.#files = files;
    this.#folder = folder;
    this.#locks = locks;
    this.#settings = settings;
    this.#summaries = new SummaryCache(files);
  }

  async create(session: NewSession): Promise<StoredSession> {
    const now = this.#settings.now();
    const record = recordOf(session, 1, now, now);
    const text = encodeRecord(record);
    return await this.#run("written", () =>
      this.#locks.withLock(CREATE_LOCK, async () => {
        const listed = await this.#list();
        if (await this.#summaries.read(this.#path(record.sessionId), record.sessionId)) throw sessionExists(record.sessionId);
        if (listed.filter(({ status }) => status === "active").length >= this.#settings.maxSessions) throw tooManySessions(this.#settings.maxSessions);
        return await this.#write(record, text);
      }),
    );
  }

  async get(sessionId: string): Promise<StoredSession> {
    checkSessionId(sessionId);
    return await this.#run("read", async () => sessionFrom(this.#active(sessionId, await readSessionFile(this.#files, this.#path(sessionId), sessionId)), "active"));
  }

  async save(session: ChangedSession): Promise<StoredSession> {
    const { sessionId } = session;
    checkSessionId(sessionId);
    return await this.#run("written", () =>
      this.#locks.withLock(sessionId, async () => {
        const stored = this.#active(sessionId, await this.#summaries.read(this.#path(sessionId), sessionId));
        if (stored.revision !== session.revision) throw sessionChanged(sessionId);
        const record = recordOf(session, stored.revision + 1, session.createdAt, this.#settings.now());
        return await this.#write(record, encodeRecord(record));
      }),
    );
  }

  async list(): Promise<StoredSessionSummary[]> {
    return await this.#run("read", () => this.#list());
  }

  async close(sessionId: string): Promise<void> {
    checkSessionId(sessionId);
    await this.#run("written", () =>
      this.#locks.withLock(sessionId, async () => {
        const file = await this.#summaries.read(this.#path(sessionId), sessionId);
        if (!file) throw sessionUnknown(sessionId);
        await this.#remove(sessionId);
        if (this.#phase(file) === "gone") throw sessionUnknown(sessionId);
      }),
    );
  }

  async sweep(): Promise<void> {
    await this.#run("written", async () => {
      for (const sessionId of await sessionIdsIn(this.#files, this.#folder)) {
        if (!(await this.#isGone(sessionId))) continue;
        await this.#locks.withLock(sessionId, async () => {
          if (await this.#isGone(sessionId)) await this.#remove(sessionId);
        });
      }
    });
  }

  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await reportFileErrors("closed", () => this.#locks.dispose());
  }

  async #run<Result>(done: string, body: () => Promise<Result>): Promise<Result> {
    if (this.#disposed) throw storeDisposed();
    return await reportFileErrors(done, body);
  }

  async #list(): Promise<StoredSessionSummary[]> {
    const sessionIds = await sessionIdsIn(this.#files, this.#folder);
    this.#summaries.retain(sessionIds);
    const listed: StoredSessionSummary[] = [];
    for (const sessionId of sessionIds) {
      const file = await this.#summaries.read(this.#path(sessionId), sessionId);
      const phase = file && this.#phase(file);
      if (!file || !phase || phase === "gone") continue;
      if ("version" in file.content) listed.push(summaryFrom(file.content, phase));
      else listed.push(this.#unreadable(sessionId, file.content.unreadable));
    }
    return listed.sort(byAge);
  }

  /** Returns the record of an active session. */
  #active(sessionId: string, file: SessionFile | undefined): SessionRecord {
    const phase = file && this.#phase(file);
    if (!file || phase === "gone") throw sessionUnknown(sessionId);
    if (!("version" in file.content)) {
      this.#unreadable(sessionId, file.content.unreadable);
      throw sessionUnreadable(sessionId);
    }
    if (phase === "expired") throw sessionExpired(sessionId);
    return file.content;
  }

  #phase(file: SessionFile): "active" | "expired" | "gone" {
    const readable = "version" in file.content;
    const phase = phaseAt(this.#settings.now(), readable ? (file.content as SessionRecord).updatedAt : file.writtenAt, this.#settings.expiryMs);
    return phase === "active" && !readable ? "expired" : phase;
  }

  #unreadable(sessionId: string, reason: string): StoredSessionSummary {
    if (!this.#warned.has(sessionId)) {
      this.#warned.add(sessionId);
      this.#settings.warn(`session ${sessionId} is listed as expired, because its file cannot be used: ${reason}`);
    }
    return unreadableSummary(sessionId);
  }

  async #isGone(sessionId: string): Promise<boolean> {
    const file = await this.#summaries.read(this.#path(sessionId), sessionId);
    return file !== undefined && this.#phase(file) === "gone";
  }

  async #write(record: SessionRecord, text: string): Promise<StoredSession> {
    await replaceFile(this.#files, this.#path(record.sessionId), text);
    // Without it, a power cut could leave the former revision of a session, or lose the name of a new one.
    if (record.revision === 1) await this.#flush();
    return sessionFrom(record, "active");
  }

  async #remove(sessionId: string): Promise<void> {
    await removeFile(this.#files, this.#path(sessionId));
    this.#warned.delete(sessionId);
    await this.#flush();
  }

  /** The change is already visible if this fails, so a failure of the call would be wrong. */
  async #flush(): Promise<void> {
    try {
      await flushFolder(this.#files, this.#folder);
    } catch (error) {
      this.#settings.warn(`the folder of the session store was not flushed (${errorCode(error)}): a power cut may undo the last change; check the disk`);
    }
  }

  #path(sessionId: string): string {
    return sessionPath(this.#folder, sessionId);
  }
}

function encodeRecord(record: SessionRecord): string {
  const text = encodeJson(record);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_SESSION_BYTES) throw sessionTooLarge(record.sessionId, bytes, MAX_SESSION_BYTES);
  return text;
}

/** The system's message contains the path, which is useless for an AI: our message has only the code. */
async function reportFileErrors<Result>(done: string, body: () => Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (cause) {
    if (cause instanceof SessionStoreError || !isSystemError(cause)) throw cause;
    const advice = ["ENOSPC", "EDQUOT", "EFBIG"].includes(cause.code) ? "free space on the disk of the session store" : "check the folder of the session store and its permissions";
    throw new StoreUnavailable(`the session store could not be ${done} (${cause.code}), and the sessions are as before: ${advice}, then retry`, { cause });
  }
}

function isSystemError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && "syscall" in error && typeof (error as { code?: unknown }).code === "string";
}
