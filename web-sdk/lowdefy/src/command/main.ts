/** The command `mcp-web-lowdefy`. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

import { redirectConsole } from "../engine/activity.ts";
import { AppError } from "../engine/app-error.ts";
import { LowdefyApp } from "../engine/app.ts";
import { Host } from "../host/host.ts";
import { type Settings, readSettings } from "../host/settings.ts";
import { SessionStoreError, openStore, principalOfToken } from "../stores/index.ts";
import { type CommandOptions, HELP, UsageError, readOptions } from "./options.ts";
import { ChildProgram, startBridge, startStdioClient } from "./private-bridge.ts";
import { createToken, keptToken, readTokenFile, writePrivate } from "./tokens.ts";
import { watchFolder } from "./watch.ts";

/** How long a bridge of --stdio may take to answer. */
const MAX_CONNECT_MS = 30_000;

/** Takes the secrets of the app out of what is said, once they are known. */
let redact = (text: string): string => text;

const say = (text: string) => process.stderr.write(`${redact(text)}\n`);

/** Runs the command, and returns its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  redirectConsole(say);
  surviveFaults();
  try {
    checkNode();
    const options = readOptions(args, process.env);
    if (options === "help" || options === "version") {
      process.stdout.write(options === "help" ? HELP : `mcp-web-lowdefy ${version()}\n`);
      return 0;
    }
    await run(options);
    return 0;
  } catch (error) {
    const isExpected = error instanceof AppError || error instanceof SessionStoreError;
    say(`mcp-web-lowdefy: ${isExpected ? error.message : ((error as Error).stack ?? String(error))}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

function checkNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 18)) throw new AppError(`Node 22.18 or later is needed, and this is ${process.versions.node}`);
}

/** Code of the app may forget a promise, and nobody may read what is said any more: neither ends the sessions of all users. */
function surviveFaults(): void {
  process.stderr.on("error", () => {});
  process.on("unhandledRejection", (reason) => console.error(reason));
  process.on("uncaughtException", (error) => console.error(error));
}

async function run(options: CommandOptions): Promise<void> {
  const ended = endOfProcess();
  // The app's own code may write there, and with --stdio it is the protocol's.
  if (options.isStdio) process.stdout.write = process.stderr.write.bind(process.stderr);
  const closing: (() => unknown)[] = [];
  try {
    let app = await LowdefyApp.build(options.config, (text) => say(`build: ${text}`));
    redact = app.redact;
    closing.push(() => app.dispose());
    let settings = settingsOf(app, options);
    const isFolder = !/^[a-z][a-z\d+.-]+:\/\//i.test(options.store);
    if (isFolder) await makeStoreFolder(options.store);
    const tokens = await tokensOf(options, isFolder);
    if (options.isStdio && tokens.length > 1) throw new UsageError("--stdio has one user: give --token-file with one token, or none");
    let bridgeUrl = options.bridge;
    if (options.isStdio) {
      const { bridge, url } = await startBridge(options.bridgeProgram, tokens[0]!);
      closing.push(() => bridge.stop());
      ended.when(bridge.process, "the bridge has ended");
      bridgeUrl = url;
    }
    const hosts: Host[] = [];
    const failed = new Set<Host>();
    const connecting: Promise<void>[] = [];
    const name = options.name ?? app.name ?? "lowdefy";
    for (const token of tokens) {
      const principal = principalOfToken(token);
      const store = await openUserStore(options.store, principal, { maxSessions: settings.maxSessionsPerUser, expiryMs: settings.sessionExpiryMinutes * 60_000, warn: say });
      const host = new Host({ name, app, settings, store, bridgeUrl, token, roles: options.roles, bridgeSession: bridgeSession(options, principal) });
      closing.push(() => host.dispose());
      hosts.push(host);
      host.mcpWeb.onStatusChange((status) => {
        if (status.state !== "failed") return;
        const reason = `the bridge refuses the connection: ${status.error.message}`;
        failed.add(host);
        if (failed.size === tokens.length) ended.fail(new AppError(reason));
        else say(`user ${tokens.indexOf(token) + 1} of ${tokens.length} has left: ${reason}`);
      });
      // Until the bridge is there, the status tells.
      connecting.push(host.connect());
    }
    const connected = Promise.all(connecting);
    if (options.isStdio) {
      const late = new AppError(`the bridge does not answer within ${MAX_CONNECT_MS / 1000} s`);
      const timer = setTimeout(() => ended.fail(late), MAX_CONNECT_MS);
      await Promise.race([connected, ended.promise]);
      clearTimeout(timer);
      if (ended.isOver()) return;
      const client = startStdioClient(options.stdioProgram, bridgeUrl, tokens[0]!);
      closing.push(() => client.stop());
      client.process.once("error", () => ended.fail(new AppError(`${options.stdioProgram} cannot be started: give the stdio client with --stdio-program or MCP_WEB_STDIO_PROGRAM`)));
      ended.when(client.process, undefined);
    } else {
      if (!options.tokenFile && isFolder) await writeClientConfiguration(options, hosts[0]!);
      say(`${name}: ${hosts.length} ${hosts.length === 1 ? "user" : "users"} at ${withoutCredentials(bridgeUrl)}`);
      connected.then(
        () => say("connected: AI clients can use the app"),
        () => {},
      );
    }
    if (options.isWatching) {
      const reload = async () => {
        try {
          const newer = await LowdefyApp.build(options.config, (text) => say(`build: ${text}`));
          try {
            settings = settingsOf(newer, options);
          } catch (error) {
            await newer.dispose();
            throw error;
          }
          const former = app;
          app = newer;
          for (const host of hosts) await host.reload(newer, settings);
          await former.dispose();
          say("the app was built again");
        } catch (error) {
          say(`the app stays as it was: ${(error as Error).message}`);
        }
      };
      let last = Promise.resolve();
      closing.push(watchFolder(options.config, [options.store], () => (last = last.then(reload))));
    }
    await ended.promise;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function openUserStore(...args: Parameters<typeof openStore>): ReturnType<typeof openStore> {
  try {
    return await openStore(...args);
  } catch (error) {
    if (error instanceof SessionStoreError) throw error;
    throw new AppError((error as Error).message);
  }
}

async function makeStoreFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    throw new AppError(`--store cannot be used: ${error.message}`);
  });
}

function settingsOf(app: LowdefyApp, { format }: CommandOptions): Settings {
  const settings = readSettings(app.mcp);
  return format ? { ...settings, format } : settings;
}

async function tokensOf({ tokenFile, isStdio, store }: CommandOptions, isFolder: boolean): Promise<string[]> {
  if (tokenFile !== undefined) return readTokenFile(tokenFile);
  // Sessions belong to the token: a new one would lose them.
  if (isFolder) return [await keptToken(join(store, "token"))];
  if (isStdio) return [createToken()];
  throw new AppError("--token-file is needed where sessions are kept in Redis");
}

/** A host that is started again is the same session at the bridge. Of two at once, the newer one has it. */
function bridgeSession({ config }: CommandOptions, principal: string): string {
  const hash = createHash("sha256").update(JSON.stringify([principal, resolve(config)]));
  return `lowdefy-${hash.digest("hex").slice(0, 32)}`;
}

async function writeClientConfiguration({ store }: CommandOptions, host: Host): Promise<void> {
  const file = join(store, "mcp.json");
  await writePrivate(file, `${JSON.stringify(host.mcpWeb.mcpConfig, null, 2)}\n`);
  say(`the configuration for AI clients is in ${file}`);
}

const withoutCredentials = (url: string): string => url.replace(/\/\/[^/@]*@/, "//");

function version(): string {
  // The command is one file in the package, and many in the sources.
  const path = import.meta.url.endsWith(".ts") ? "../../package.json" : "../package.json";
  return JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")).version;
}

/** What ends the command: a signal, the end of a process that it needs, or a failure. */
function endOfProcess() {
  const { promise, resolve: end, reject: fail } = Promise.withResolvers<void>();
  let isOver = false;
  promise.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => end());
  return {
    promise,
    fail,
    isOver: () => isOver,
    when: (child: ChildProgram["process"], failure: string | undefined) => void once(child, "exit").then(() => (failure ? fail(new AppError(failure)) : end()), fail),
  };
}
