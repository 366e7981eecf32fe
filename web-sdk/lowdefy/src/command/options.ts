/** The command line. */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { type PageToolsLimits, completeLimits } from "mcp-web-sdk/page-driver";

import { AppError } from "../engine/app-error.ts";
import { HOST_LIMITS } from "../host/settings.ts";

/** The options of the command. */
export interface CommandOptions {
  /** The folder of the app, which contains `lowdefy.yaml`. */
  config: string;
  bridge: string;
  tokenFile?: string;
  store: string;
  format?: "outline" | "markdown";
  name?: string;
  roles: string[];
  isWatching: boolean;
  isStdio: boolean;
  /** The program with the commands `bridge` and `stdio`. */
  program: string;
  /** The maximum number of processes for users. By default, the memory of the computer determines it. */
  maxProcesses?: number;
  /** The memory of each of them. */
  processMemoryMb?: number;
  processIdleSeconds: number;
}

const DEFAULT_BRIDGE = "http://localhost:3001";
const DEFAULT_IDLE_SECONDS = 300;
const MIN_PROCESS_MB = 96;

/** Names a limit of this host with its default. */
const hostLimit = (name: keyof typeof HOST_LIMITS) => `${name} (${HOST_LIMITS[name][0]})`;

/** Names a limit of page tools with its default. */
const pageLimit = (name: keyof PageToolsLimits) => `${name} (${completeLimits()[name]})`;

export const HELP = `Lets AI clients use a Lowdefy app without a browser: its own pages, with its own rules and the roles of its users.

Usage: mcp-web-lowdefy [OPTIONS]

Options:
  --config <FOLDER>          The app: the folder of lowdefy.yaml [default: .]
  --bridge <URL>             The MCP-Web bridge [env: MCP_WEB_BRIDGE_URL] [default: ${DEFAULT_BRIDGE}]
  --token-file <FILE>        Tokens, one per line; lines that begin with # are comments. Each is a separate user with a connection, sessions
                             and a folder of the store. Without it, one token is generated and stored in the store's folder
  --store <FOLDER|URL>       Where sessions are stored: a folder, or redis://HOST:PORT without a password [env: MCP_WEB_STORE, also with a
                             password] [default: .mcp-web in the app's folder]
  --store-file <FILE>        File with the value of --store, also with a password
  --roles <ROLE,…>           The roles of users with opaque tokens; signed tokens have their own [default: none]
  --format <FORMAT>          The format of pages: markdown or outline [default: mcp.format of lowdefy.yaml, else markdown]
  --name <NAME>              The name that AI clients see [default: the name in lowdefy.yaml]
  --watch                    Build the app again when its files change; sessions continue
  --stdio                    Run as an MCP server over stdin and stdout, with a private bridge that ends with it: one entry in the
                             configuration of a desktop AI client
  --max-processes <NUMBER>   The maximum number of users served at once, each by a process. Below it, a spare process waits for the next user
                             [default: as many as fit in three quarters of the memory]
  --process-memory <MB>      The memory of each process, at least ${MIN_PROCESS_MB} [default: a 32nd of the memory, from 128 to 256]
  --process-idle <SECONDS>   Time without a call after which the process of a user ends; sessions are kept [default: ${DEFAULT_IDLE_SECONDS}]
  --program <FILE>           The program with the bridge and the stdio client of --stdio [env: MCP_WEB_PROGRAM] [default: mcp-web]
  -h, --help                 Print help
  -V, --version              Print version

Secrets of the app are read from LOWDEFY_SECRET_<NAME>. lowdefy.yaml may have, under mcp: format; limits with ${hostLimit("maxSessionsPerUser")},
${hostLimit("sessionExpiryMinutes")}, ${hostLimit("callsPerMinute")}, ${hostLimit("maxCallCpuMs")}, ${hostLimit("maxStateBytes")}, ${hostLimit("maxListItems")}, ${pageLimit("maxActionsPerCall")},
${pageLimit("actionTimeoutMs")}, ${pageLimit("callTimeoutMs")}, ${pageLimit("maxElements")}, ${pageLimit("maxValueBytes")} and ${pageLimit("maxPageBytes")}; and dynamicOperators, a list
of operators that may run texts as code or pattern that are not in the app's configuration.

Exit codes: 0 after a signal or the end of input, 1 if the app, the store or the bridge cannot be used, 2 for an invalid command line.
`;

/** An invalid command line. */
export class UsageError extends AppError {}

/** Parses the command line. @throws UsageError if it is invalid. */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): CommandOptions | "help" | "version" {
  const { values } = parse(args);
  if (values.help) return "help";
  if (values.version) return "version";
  const { format } = values;
  if (format !== undefined && format !== "outline" && format !== "markdown") throw new UsageError("--format must be markdown or outline");
  const config = values.config ?? ".";
  const bridge = values.bridge ?? environment.MCP_WEB_BRIDGE_URL ?? DEFAULT_BRIDGE;
  if (!/^(https?|wss?):$/.test(URL.parse(bridge)?.protocol ?? "")) throw new UsageError("--bridge must be a URL such as http://localhost:3001");
  const store = readStore(values, environment) ?? `${config}/.mcp-web`;
  if (isUrl(store) && !values.stdio && values["token-file"] === undefined) throw new UsageError("--token-file is needed where sessions are kept in Redis");
  return {
    config,
    bridge,
    store,
    roles: (values.roles ?? "").split(",").map((role) => role.trim()).filter(Boolean),
    isWatching: values.watch ?? false,
    isStdio: values.stdio ?? false,
    program: values.program ?? environment.MCP_WEB_PROGRAM ?? "mcp-web",
    processIdleSeconds: readNumber(values, "process-idle", 1, 86_400) ?? DEFAULT_IDLE_SECONDS,
    ...definedNumber("maxProcesses", readNumber(values, "max-processes", 1, 10_000)),
    ...definedNumber("processMemoryMb", readNumber(values, "process-memory", MIN_PROCESS_MB, 65_536)),
    ...(values["token-file"] !== undefined && { tokenFile: values["token-file"] }),
    ...(format && { format }),
    ...(values.name !== undefined && { name: values.name }),
  };
}

/** Returns whether a store is a server rather than a folder. */
export const isUrl = (store: string): boolean => /^[a-z][a-z\d+.-]+:\/\//i.test(store);

function readNumber(values: Record<string, unknown>, name: string, least: number, most: number): number | undefined {
  const value = values[name];
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!Number.isInteger(number) || number < least || number > most) throw new UsageError(`--${name} must be a whole number from ${least} to ${most}`);
  return number;
}

const definedNumber = (name: "maxProcesses" | "processMemoryMb", value: number | undefined) => (value === undefined ? {} : { [name]: value });

/**
 * Returns the location of the sessions. A password is read only from a file or a variable, because arguments are visible to
 * all users of the computer.
 */
function readStore({ store, "store-file": file }: { store?: string; "store-file"?: string }, environment: NodeJS.ProcessEnv): string | undefined {
  if (store !== undefined && file !== undefined) throw new UsageError("--store and --store-file exclude each other");
  if (store !== undefined && URL.parse(store)?.password) {
    throw new UsageError("--store has a password, which other users of this computer could read: give it with --store-file or MCP_WEB_STORE");
  }
  const [value, source] = file === undefined ? [store ?? environment.MCP_WEB_STORE, store === undefined ? "MCP_WEB_STORE" : "--store"] : [readStoreFile(file), `--store-file ${file}`];
  if (value === "") throw new UsageError(`${source} is empty: give a folder or redis://HOST:PORT`);
  return value;
}

function readStoreFile(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`--store-file cannot be read: ${(error as Error).message}`);
  }
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        config: text,
        bridge: text,
        "token-file": text,
        store: text,
        "store-file": text,
        roles: text,
        format: text,
        name: text,
        watch: flag,
        stdio: flag,
        "max-processes": text,
        "process-memory": text,
        "process-idle": text,
        program: text,
        help: { ...flag, short: "h" },
        version: { ...flag, short: "V" },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split(". ")[0]}: see mcp-web-lowdefy --help`);
  }
}
