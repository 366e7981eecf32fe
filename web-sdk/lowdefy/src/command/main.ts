/**
 * The command `mcp-web-lowdefy`.
 *
 * `command` (options, tokens, `--watch`, the private bridge of `--stdio`) starts a `host` for each user (tools, settings,
 * sessions). The host uses `processes`: a process for each user, which is not trusted and has no secrets. Such a process
 * (`session-process.ts`) has a `driver` (the page as a tree, actions) over the `engine` (build, pages, requests). `stores` keeps
 * the sessions in files or Redis.
 *
 * Only `engine` knows Lowdefy's vocabulary, except the tables of `driver` for block types. `engine` and `stores` know no MCP.
 */

import { createHash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve, sep } from "node:path";

import { redirectConsole } from "../engine/activity.ts";
import { AppError } from "../engine/app-error.ts";
import { LowdefyApp } from "../engine/app.ts";
import { LowdefyHost, type HostOptions } from "../host/host.ts";
import { type Settings, readSettings } from "../host/settings.ts";
import { availableMemoryMb, defaultMaxProcesses, defaultProcessMemoryMb } from "../processes/machine.ts";
import { ProcessPool } from "../processes/process-pool.ts";
import type { ProcessOptions } from "../processes/process-handle.ts";
import { SessionStoreError, openStore, principalOfToken } from "../stores/index.ts";
import { End } from "./end.ts";
import { logLine } from "./log.ts";
import { type CommandOptions, HELP, UsageError, isUrl, readOptions } from "./options.ts";
import { startBridge, startStdioClient } from "./private-bridge.ts";
import { createToken, keptToken, readTokenFile, writePrivate } from "./tokens.ts";
import { watchFolder } from "./watch.ts";

/** How long to wait for the bridge of --stdio. */
const MAX_CONNECT_MS = 30_000;

/** How long a call waits if all processes for users are in use. */
const MAX_PROCESS_WAIT_MS = 10_000;

/** Removes the secrets of the app from messages, once they are known. */
let redact = (text: string): string => text;

const say = (text: string) => logLine(redact(text));

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

/** Unhandled rejections of the app's code, and a missing reader of the log, must not end the sessions of all users. */
function surviveFaults(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.on("unhandledRejection", (reason) => console.error(reason));
  process.on("uncaughtException", (error) => console.error(error));
}

async function run(options: CommandOptions): Promise<void> {
  const end = new End();
  // The app's code may write to the standard output, which is the protocol's with --stdio.
  if (options.isStdio) process.stdout.write = process.stderr.write.bind(process.stderr);
  const closing: (() => unknown)[] = [];
  try {
    let app = await LowdefyApp.build(options.config, (text) => say(`build: ${text}`));
    redact = app.redactor.text;
    closing.push(() => app.dispose());
    const settings = settingsOf(app, options);
    const isFolder = !isUrl(options.store);
    if (isFolder) await makeStoreFolder(options.store);
    const tokens = await tokensOf(options, isFolder);
    checkUnreadable([...(isFolder ? [options.store] : []), ...(options.tokenFile === undefined ? [] : [options.tokenFile])], app.readable);
    if (options.isStdio && tokens.length > 1) throw new UsageError("--stdio has one user: give --token-file with one token, or none");
    let bridgeUrl = options.bridge;
    if (options.isStdio) {
      const { bridge, url } = await startBridge(options.program, tokens[0]!, say);
      closing.push(() => bridge.stop());
      end.with(bridge.process, "the bridge has ended");
      bridgeUrl = url;
    }
    const name = options.name ?? app.name ?? "lowdefy";
    const { processMemoryMb, maxProcesses, processIdleSeconds } = processLimits(options, tokens.length);
    const pool = await ProcessPool.open(processOptions(app, settings, processMemoryMb), { maxProcesses, idleMs: processIdleSeconds * 1000, waitMs: MAX_PROCESS_WAIT_MS });
    closing.push(() => pool.dispose());
    const common = { name, app, pool, settings, bridgeUrl, roles: options.roles };
    const hosts: LowdefyHost[] = [];
    for (const token of tokens) {
      const host = await openHost(token, common, options);
      closing.push(() => host.dispose());
      hosts.push(host);
    }
    endWithAll(hosts, end);
    // Until the bridge answers, the status reports the progress.
    const connected = Promise.all(hosts.map((host) => host.connect()));
    if (options.isStdio) {
      const late = new AppError(`the bridge does not answer within ${MAX_CONNECT_MS / 1000} s`);
      const timer = setTimeout(() => end.fail(late), MAX_CONNECT_MS);
      await Promise.race([connected, end.promise]);
      clearTimeout(timer);
      if (end.isOver) return;
      const client = startStdioClient(options.program, bridgeUrl, tokens[0]!, say);
      closing.push(() => client.stop());
      client.process.once("error", () => end.fail(new AppError(`${options.program} cannot be started: give its path with --program or MCP_WEB_PROGRAM`)));
      end.with(client.process);
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
        const newer = await buildAgain(options, (app, settings) => pool.reload(processOptions(app, settings, processMemoryMb)));
        if (!newer) return;
        const former = app;
        app = newer.app;
        for (const host of hosts) host.reload(newer.app, newer.settings);
        await former.dispose();
        say("the app was built again");
      };
      let last = Promise.resolve();
      closing.push(watchFolder(options.config, [options.store], () => (last = last.then(reload))));
    }
    await end.promise;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** Returns the maximum number of processes for users, and the maximum size of each. */
function processLimits({ processMemoryMb, maxProcesses, processIdleSeconds }: CommandOptions, users: number) {
  const available = availableMemoryMb();
  const memory = processMemoryMb ?? defaultProcessMemoryMb(available);
  const most = maxProcesses ?? defaultMaxProcesses(available, memory);
  return { processMemoryMb: memory, maxProcesses: Math.min(most, users), processIdleSeconds };
}

/** Returns the options for starting the processes of users, which contain no secrets. */
function processOptions(app: LowdefyApp, { format, page, maxStateBytes, maxListItems, maxCallCpuMs, dynamicOperators }: Settings, memoryMb: number): ProcessOptions {
  const knownTexts = [...app.knownTexts];
  const settings = { plugins: app.pagePlugins, knownTexts, dynamicOperators: [...dynamicOperators], maxStateBytes, maxListItems, format, page };
  return { settings, readable: app.readable, memoryMb, maxCallCpuMs, log: say };
}

/** Builds the app again, and prepares its use. Returns nothing, after logging the reason, if that fails. */
async function buildAgain(options: CommandOptions, prepare: (app: LowdefyApp, settings: Settings) => Promise<void>): Promise<{ app: LowdefyApp; settings: Settings } | undefined> {
  let app: LowdefyApp | undefined;
  try {
    app = await LowdefyApp.build(options.config, (text) => say(`build: ${text}`));
    const settings = settingsOf(app, options);
    await prepare(app, settings);
    return { app, settings };
  } catch (error) {
    await app?.dispose();
    say(`the app stays as it was: ${(error as Error).message}`);
    return undefined;
  }
}

/** Opens the store of a user, and the host that offers their sessions. */
async function openHost(token: string, common: Pick<HostOptions, "name" | "app" | "pool" | "settings" | "bridgeUrl" | "roles">, options: CommandOptions): Promise<LowdefyHost> {
  const principal = principalOfToken(token);
  const { maxSessionsPerUser, sessionExpiryMinutes } = common.settings;
  const store = await openStore(options.store, principal, { maxSessions: maxSessionsPerUser, expiryMs: sessionExpiryMinutes * 60_000, warn: say }).catch((error: Error) => {
    throw error instanceof SessionStoreError ? error : new AppError(error.message);
  });
  return new LowdefyHost({ ...common, store, token, bridgeSession: bridgeSession(options, principal) });
}

/** Ends the command when the bridge has rejected the last of its connections. */
function endWithAll(hosts: readonly LowdefyHost[], end: End): void {
  let left = hosts.length;
  for (const [index, { mcpWeb }] of hosts.entries()) {
    mcpWeb.onStatusChange((status) => {
      if (status.state !== "failed") return;
      left -= 1;
      const reason = `the bridge refuses the connection: ${status.error.message}`;
      if (left === 0) end.fail(new AppError(reason));
      else say(`user ${index + 1} of ${hosts.length} has left: ${reason}`);
    });
  }
}

/** @throws AppError if the processes of users could read files that they must not. */
function checkUnreadable(paths: readonly string[], readable: readonly string[]): void {
  for (const path of paths) {
    const folder = readable.find((folder) => `${realpathSync(path)}${sep}`.startsWith(`${realpathSync(folder)}${sep}`));
    if (folder) throw new AppError(`${path} is in ${folder}, which the processes of all users may read: keep it elsewhere`);
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

async function tokensOf({ tokenFile, store }: CommandOptions, isFolder: boolean): Promise<string[]> {
  if (tokenFile !== undefined) return readTokenFile(tokenFile);
  // Sessions belong to the token: with a new token they would be lost.
  if (isFolder) return [await keptToken(join(store, "token"))];
  return [createToken()];
}

/** A restarted host continues the same session at the bridge. If two run at once, the newer one has the session. */
function bridgeSession({ config }: CommandOptions, principal: string): string {
  const hash = createHash("sha256").update(JSON.stringify([principal, resolve(config)]));
  return `lowdefy-${hash.digest("hex").slice(0, 32)}`;
}

async function writeClientConfiguration({ store }: CommandOptions, host: LowdefyHost): Promise<void> {
  const file = join(store, "mcp.json");
  await writePrivate(file, `${JSON.stringify(host.mcpWeb.mcpConfig, null, 2)}\n`);
  say(`the configuration for AI clients is in ${file}`);
}

const withoutCredentials = (url: string): string => url.replace(/\/\/[^/@]*@/, "//");

function version(): string {
  // The command is a single file in the package, and many files in the sources.
  const path = import.meta.url.endsWith(".ts") ? "../../package.json" : "../package.json";
  return JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")).version;
}
