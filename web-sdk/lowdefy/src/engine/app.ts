/** A Lowdefy app in the format of its build: pages, menus, requests. */

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { callRequest, createApiContext, getPageConfig, getRootConfig } from "@lowdefy/api";

import type { BuildResult } from "./build.ts";
import { runBuild } from "./build-runner.ts";
import type { ApiContext, PageConfig } from "./engine-types.ts";
import { EVALUATORS, evaluatedTexts, guardOperators } from "./known-texts.ts";
import { limitOperatorTime } from "./operator-time.ts";
import { PackageFinder, foldersOfModules } from "./packages.ts";
import { type PagePluginModules, type ServerPlugins, type Types, findPagePlugins, loadServerPlugins, originalNames } from "./plugins.ts";
import { type Redactor, createRedactor, readSecrets } from "./secrets.ts";

/** The user for whom pages are read and requests are made. */
export interface AppUser {
  sub?: string;
  roles: readonly string[];
}

/** A page that a user may open. */
export interface AppPageSummary {
  pageId: string;
  title: string;
  auth?: unknown;
}

/** The page that the build adds for missing pages. */
const NOT_FOUND_PAGE = "404";

export type RootConfig = Awaited<ReturnType<typeof getRootConfig>>;

/** A request by a page. */
export interface LowdefyRequest {
  blockId: string;
  pageId: string;
  payload: unknown;
  requestId: string;
}

/** The parts of an app, which {@link LowdefyApp.build} joins. */
interface AppParts {
  output: string;
  built: BuildResult;
  types: Types;
  server: ServerPlugins;
  pagePlugins: PagePluginModules;
  readable: string[];
  knownTexts: Set<string>;
  pageIds: Set<string>;
  config: unknown;
}

/** A built app. It has the secrets, and is used only by the host. */
export class LowdefyApp {
  /** The name in `lowdefy.yaml`. */
  readonly name: string | undefined;
  /** The settings for this host in `lowdefy.yaml`, under the key `mcp`. */
  readonly mcp: unknown;
  /** The modules of the app's packages that pages need. */
  readonly pagePlugins: PagePluginModules;
  /** The folders of these modules. */
  readonly readable: readonly string[];
  /** The texts in the configuration that operators and actions run as code or pattern. */
  readonly knownTexts: ReadonlySet<string>;
  /** Removes the values of secrets from texts and values. */
  readonly redactor: Redactor;
  readonly #folder: string;
  readonly #output: string;
  readonly #pageIds: ReadonlySet<string>;
  readonly #config: unknown;
  readonly #server: ServerPlugins;
  /** The operators of requests that run texts. */
  readonly #evaluators: readonly string[];
  readonly #secrets: Record<string, string>;
  readonly #fileCache = new Map();
  readonly #pages = new Map<string, PageConfig>();

  private constructor({ output, built, types, server, pagePlugins, readable, knownTexts, pageIds, config }: AppParts) {
    this.#output = output;
    this.#folder = built.folder;
    this.name = built.name;
    this.mcp = built.mcp;
    this.pagePlugins = pagePlugins;
    this.readable = readable;
    this.knownTexts = knownTexts;
    this.#pageIds = pageIds;
    this.#config = config;
    const names = originalNames(types.operators.server);
    this.#server = { ...server, operators: guardOperators(server.operators, names, { known: knownTexts, dynamic: [] }) };
    this.#evaluators = Object.keys(names).filter((type) => EVALUATORS.includes(names[type]!.name));
    this.#secrets = readSecrets(process.env);
    this.redactor = createRedactor(this.#secrets);
  }

  /** Builds the app of a folder. @throws AppError if it cannot be built, or a package is not installed. */
  static async build(config: string, warn: (text: string) => void): Promise<LowdefyApp> {
    const output = await mkdtemp(join(tmpdir(), "mcp-web-lowdefy-"));
    try {
      const packages = new PackageFinder(config);
      const built = await runBuild(resolve(config), output, warn);
      const read = readerOf(built.folder);
      const types = (await read("types.json")) as Types;
      const pagePlugins = findPagePlugins(types, packages);
      const modules = [...Object.values(pagePlugins.actions), ...Object.values(pagePlugins.operators)].map(({ url }) => url);
      return new LowdefyApp({
        output,
        built,
        types,
        server: await loadServerPlugins(types, packages),
        pagePlugins,
        readable: foldersOfModules(modules),
        knownTexts: new Set(await textsOf(built.folder, read)),
        pageIds: new Set(await listPageIds(built.folder)),
        config: await read("config.json"),
      });
    } catch (error) {
      await rm(output, { recursive: true, force: true });
      throw error;
    }
  }

  /** Removes the built files. */
  async dispose(): Promise<void> {
    await rm(this.#output, { recursive: true, force: true });
  }

  /** Returns the global configuration, and the menus that a user sees. */
  async rootConfig(user: AppUser): Promise<RootConfig> {
    const { home, lowdefyGlobal, menus } = await getRootConfig(this.#api(user));
    return { home, menus: prepare(menus) as RootConfig["menus"], lowdefyGlobal: prepare(lowdefyGlobal ?? {}) as RootConfig["lowdefyGlobal"] };
  }

  /** Returns a page, or nothing if there is no such page that the user may open. */
  async page(pageId: string, user: AppUser): Promise<PageConfig | undefined> {
    // The id becomes part of a path.
    if (!this.#pageIds.has(pageId)) return undefined;
    const page = await getPageConfig(this.#api(user), { pageId });
    if (!page) return undefined;
    if (!this.#pages.has(pageId)) this.#pages.set(pageId, prepare(page) as PageConfig);
    return this.#pages.get(pageId);
  }

  /** Returns the pages that a user may open, in the order of the menus. */
  async pages(user: AppUser): Promise<AppPageSummary[]> {
    const api = this.#api(user);
    const { menus } = await getRootConfig(api);
    const titles = new Map(menus.flatMap(({ links = [] }) => links.flatMap(function flat(item): [string, unknown][] {
      return [...(item.pageId === undefined ? [] : [[item.pageId, item.properties?.title] as [string, unknown]]), ...(item.links ?? []).flatMap(flat)];
    })));
    const known = [...new Set([...titles.keys(), ...this.#pageIds])].filter((pageId) => this.#pageIds.has(pageId) && pageId !== NOT_FOUND_PAGE);
    const pages: AppPageSummary[] = [];
    for (const pageId of known) {
      const page = (await api.readConfigFile(`pages/${pageId}/${pageId}.json`)) as PageConfig | null;
      if (!page?.auth || !api.authorize(page)) continue;
      const title = [page.properties?.title, titles.get(pageId)].find((title) => typeof title === "string" && title);
      pages.push({ pageId, title: (title as string | undefined) ?? pageId, auth: prepare(page.auth) });
    }
    return pages;
  }

  /**
   * Makes a request of a page that the user may open. The values of secrets stay here. `overran` is called if one of its
   * operators took too long.
   */
  async request(user: AppUser, request: LowdefyRequest, overran: () => void): Promise<unknown> {
    const { pageId, requestId } = request;
    const page = await this.page(pageId, user);
    // The ids become parts of paths.
    if (!page?.requests?.some((known) => known.requestId === requestId)) throw new Error(`page ${JSON.stringify(pageId)} has no request ${JSON.stringify(requestId)}`);
    try {
      return this.redactor.value(await callRequest(this.#api(user, overran), request));
    } catch (error) {
      const { name, message } = error as Error;
      throw Object.assign(new Error(this.redactor.text(message)), { name });
    }
  }

  #api(user: AppUser, overran = () => {}): ApiContext {
    const { connections, operators } = this.#server;
    const context = {
      buildDirectory: this.#folder,
      config: this.#config,
      connections,
      fileCache: this.#fileCache,
      headers: {},
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      operators: limitOperatorTime(operators, this.#evaluators, overran),
      secrets: this.#secrets,
      session: { user: { ...user, roles: [...user.roles] } },
    };
    createApiContext(context);
    return context as unknown as ApiContext;
  }
}

const readerOf = (folder: string) => async (path: string): Promise<unknown> => {
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(join(folder, path), "utf8"));
};

/** Page ids may contain slashes: folders that contain a file with their own name are pages. */
async function listPageIds(folder: string): Promise<string[]> {
  const pages = join(folder, "pages");
  const files = await readdir(pages, { recursive: true, encoding: "utf8" }).catch(() => []);
  return files.flatMap((path) => {
    const parts = path.replaceAll("\\", "/").split("/");
    if (parts.length % 2 !== 0) return [];
    const pageId = parts.slice(0, parts.length / 2).join("/");
    return parts.slice(parts.length / 2).join("/") === `${pageId}.json` ? [pageId] : [];
  });
}

/**
 * Returns the texts that the app runs: those of its pages, requests and connections, and those in the global configuration.
 */
async function textsOf(folder: string, read: (path: string) => Promise<unknown>): Promise<string[]> {
  const files = await readdir(folder, { recursive: true, encoding: "utf8" });
  const configured = files.filter((path) => path.endsWith(".json") && /^(pages|connections)[\\/]/.test(path));
  const texts: string[] = [];
  for (const path of configured) texts.push(...evaluatedTexts(await read(path)));
  return [...texts, ...allTexts(await read("global.json"))];
}

function allTexts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(allTexts) : [];
}

/** Returns a page without the build's own keys, and without delays of its events. */
function prepare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(prepare);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "~k");
  return Object.fromEntries(entries.map(([key, inner]) => [key, prepare(key === "events" ? withoutDebounce(inner) : inner)]));
}

function withoutDebounce(events: unknown): unknown {
  if (typeof events !== "object" || events === null || Array.isArray(events)) return events;
  return Object.fromEntries(
    Object.entries(events).map(([name, event]) => {
      if (typeof event !== "object" || event === null || !("try" in event)) return [name, event];
      const { debounce: _, ...rest } = event as Record<string, unknown>;
      return [name, rest];
    }),
  );
}
