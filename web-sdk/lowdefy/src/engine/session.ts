/** A session of an app: its pages with their states, and its location. */

import { isDeepStrictEqual } from "node:util";

import getContext, { createLink } from "@lowdefy/engine";
import { serializer } from "@lowdefy/helpers";

import { Activity } from "./activity.ts";
import type { AppPageSummary, AppUser, LowdefyRequest, RootConfig } from "./app.ts";
import type { OpenDialogs } from "./block-methods.ts";
import { browserGlobals, withoutBrowser } from "./browser-objects.ts";
import type { Block, Context, EngineRoot, PageConfig } from "./engine-types.ts";
import { PageBlocks } from "./page-blocks.ts";
import type { ActionContext, PagePlugins } from "./plugins.ts";
import type { StateLimits } from "./state-limits.ts";
import { type SavedContext, type SavedSession, restoreContext, saveContext } from "./saved-session.ts";

/** The target of a link. */
interface Destination {
  pageId: string;
  query: string;
  isBack?: boolean;
}

/** Maximum number of pages in the history. */
const MAX_HISTORY = 50;
/** Pages may redirect to each other without end. */
const MAX_REDIRECTS = 10;

/** An `onMount` may show blocks that also have one. */
const MAX_MOUNT_ROUNDS = 10;

/** A requested page does not exist, or the user may not open it. */
export class PageUnknownError extends Error {}

/** The app, as the user of a session may use it. */
export interface SessionApp {
  readonly plugins: PagePlugins;
  readonly limits: StateLimits;
  rootConfig(): Promise<RootConfig>;
  /** Returns a page, or nothing if there is no such page that the user may open. */
  page(pageId: string): Promise<PageConfig | undefined>;
  /** Returns the pages that the user may open. */
  pages(): Promise<AppPageSummary[]>;
  request(request: LowdefyRequest): Promise<unknown>;
}

/** A session. Call {@link AppSession.start} or {@link AppSession.restore} first. */
export class AppSession {
  readonly activity: Activity;
  /** The open dialogs of the page, the one opened last at the end. */
  readonly dialogs: OpenDialogs = new Set();
  /** The blocks of the page. */
  readonly blocks: PageBlocks;
  readonly limits: StateLimits;
  readonly #app: SessionApp;
  #user: AppUser;
  readonly #root: EngineRoot;
  #context: Context | undefined;
  #title = "";
  #query = "";
  #history: { pageId: string; query: string }[] = [];
  #saved: Record<string, SavedContext> = {};
  #destination: Destination | undefined;
  #mounted = new WeakSet<Block>();

  constructor(app: SessionApp, user: AppUser) {
    this.#app = app;
    this.#user = user;
    this.limits = app.limits;
    this.activity = new Activity();
    this.blocks = new PageBlocks({ dialogs: this.dialogs, activity: this.activity, maxItems: app.limits.maxListItems });
    const root = {
      basePath: "",
      contexts: {},
      home: {},
      inputs: {},
      lowdefyGlobal: {},
      menus: [],
      pageId: "",
      user: null,
      _internal: {},
    } as EngineRoot;
    const actions = withoutBrowser(app.plugins.actions, this.activity);
    root._internal = {
      actions: { ...actions, CallMethod: (context: ActionContext) => this.#callMethod(context, actions.CallMethod) },
      blockComponents: app.plugins.blocks,
      callRequest: (request: LowdefyRequest) => this.activity.track(this.#app.request(request)),
      components: {},
      displayMessage: ({ content, status }: { content?: unknown; status?: string }) => {
        if (status !== "loading") this.activity.message(status ?? "success", String(content ?? ""));
        return () => {};
      },
      globals: browserGlobals(() => `/${root.pageId}${this.#query ? `?${this.#query}` : ""}`),
      link: createLink({
        lowdefy: root,
        backLink: () => this.#goBack(),
        disabledLink: () => {},
        newOriginLink: ({ url, href }) => this.activity.warn(`the link to ${url ?? href} was not followed: it leaves the app`),
        noLink: () => {
          throw new Error("Invalid Link.");
        },
        sameOriginLink: ({ pathname, query = "", newTab, setInput }) => {
          const pageId = pathname.slice(1) || root.home.pageId || "";
          if (newTab) return this.activity.warn(`page "${pageId}" would open in a new tab: use navigate`);
          setInput();
          this.#destination = { pageId, query };
        },
      }),
      login: () => {},
      operators: app.plugins.operators,
      updateBlock: () => this.blocks.changed(),
      updaters: {},
    };
    this.#root = root;
  }

  /** Opens the first page. */
  start(): Promise<void> {
    return this.activity.run(async () => {
      await this.#readRoot();
      this.#root.lowdefyGlobal = (await this.#app.rootConfig()).lowdefyGlobal ?? {};
      const first = await this.#firstPage();
      if (first !== undefined) await this.#open({ pageId: first, query: "" });
      await this.settle();
    });
  }

  /** Continues a saved session: the events for opening a page are not triggered again. */
  restore(saved: SavedSession): Promise<void> {
    return this.activity.run(async () => {
      await this.#readRoot();
      this.#root.lowdefyGlobal = serializer.deserialize(saved.global) as Record<string, unknown>;
      this.#root.inputs = serializer.deserialize(saved.inputs) as Record<string, unknown>;
      this.#history = saved.history;
      this.#saved = saved.contexts;
      for (const dialog of saved.dialogs) this.dialogs.add(dialog);
      await this.#showOrFirst({ pageId: saved.pageId, query: saved.query });
      // They were already shown.
      for (const { block, isShown } of this.blocks.all.values()) if (isShown) this.#mounted.add(block);
    });
  }

  save(): SavedSession {
    const contexts = Object.values(this.#root.contexts).map((context) => [context.pageId, saveContext(context)] as const);
    return {
      pageId: this.pageId,
      query: this.#query,
      history: this.#history,
      global: serializer.serialize(this.#root.lowdefyGlobal),
      inputs: serializer.serialize(this.#root.inputs),
      dialogs: [...this.dialogs],
      contexts: { ...this.#saved, ...Object.fromEntries(contexts) },
    };
  }

  get pageId(): string {
    return this.#context?.pageId ?? "";
  }

  get title(): string {
    return this.#title || this.pageId;
  }

  get context(): Context | undefined {
    return this.#context;
  }

  get global(): Record<string, unknown> {
    return this.#root.lowdefyGlobal;
  }

  get menus(): readonly unknown[] {
    return this.#root.menus;
  }

  /** Sets the user of the next call, because roles may have changed. */
  async setUser(user: AppUser): Promise<void> {
    if (isDeepStrictEqual(user, this.#user)) return;
    this.#user = user;
    await this.activity.run(async () => {
      await this.#readRoot();
      if (this.#context && !(await this.#app.page(this.pageId))) await this.#showOrFirst({ pageId: this.pageId, query: "" });
    });
  }

  pages(): Promise<AppPageSummary[]> {
    return this.#app.pages();
  }

  /** Follows a link of an action or a block. @throws Error if it is not a link. */
  link(target: unknown): void {
    (this.#root._internal.link as (target: unknown) => void)(target);
  }

  /** Opens a page. @throws PageUnknownError if there is none that this user may open. */
  async navigate(pageId: string, input: object | undefined): Promise<void> {
    if (!(await this.#app.page(pageId))) throw new PageUnknownError(await this.#unknownPage(pageId));
    this.#root.inputs[`page:${pageId}`] = input ?? {};
    this.#destination = { pageId, query: "" };
    await this.settle();
  }

  /** Waits until the effects of this task have ended: follows links, and notifies blocks that they are shown. */
  async settle(): Promise<void> {
    for (let redirects = 0; ; redirects += 1) {
      for (let rounds = 0; rounds < MAX_MOUNT_ROUNDS && (await this.#mount()); rounds += 1);
      const destination = this.#destination;
      this.#destination = undefined;
      if (!destination) return;
      if (redirects >= MAX_REDIRECTS) return this.activity.warn(`pages have led to one another ${MAX_REDIRECTS} times: the last link was not followed`);
      try {
        await this.#open(destination);
      } catch (error) {
        if (!(error instanceof PageUnknownError)) throw error;
        this.activity.warn(error.message);
      }
    }
  }

  async #readRoot(): Promise<void> {
    const { home, menus } = await this.#app.rootConfig();
    this.#root.home = home ?? {};
    this.#root.menus = menus;
    this.#root.user = { ...this.#user, roles: [...this.#user.roles] };
  }

  #goBack(): void {
    const before = this.#history.at(-1);
    if (before) this.#destination = { ...before, isBack: true };
    else this.activity.warn("there is no page to go back to");
  }

  /** Opens a page like a browser: with its events. */
  async #open(destination: Destination): Promise<void> {
    const former = this.#context && { pageId: this.pageId, query: this.#query };
    if (destination.isBack) this.#history.pop();
    await this.#show(destination);
    if (!destination.isBack && former && former.pageId !== destination.pageId) this.#history = [...this.#history, former].slice(-MAX_HISTORY);
    this.dialogs.clear();
    this.#mounted = new WeakSet();
    const { _internal } = this.#context!;
    await _internal.runOnInit(() => {});
    void this.activity.track(_internal.runOnInitAsync(() => {}));
    this.blocks.changed();
  }

  /** Returns the initial page of a user: the home page, if they may open it. */
  async #firstPage(): Promise<string | undefined> {
    const { pageId } = this.#root.home;
    if (pageId !== undefined && (await this.#app.page(pageId))) return pageId;
    return (await this.#app.pages())[0]?.pageId;
  }

  /** Shows a page, or the first one if it no longer exists or the user may no longer open it. */
  async #showOrFirst(destination: Destination): Promise<void> {
    try {
      await this.#show(destination);
    } catch (error) {
      if (!(error instanceof PageUnknownError)) throw error;
      this.activity.warn(`${error.message}; the session is on the first page now`);
      this.#context = undefined;
      this.blocks.show(undefined);
      const first = await this.#firstPage();
      if (first !== undefined) await this.#open({ pageId: first, query: "" });
    }
  }

  /** Makes a page the shown one. Its state is kept from the last time. */
  async #show({ pageId, query }: Destination): Promise<void> {
    const config = await this.#app.page(pageId);
    if (!config) throw new PageUnknownError(await this.#unknownPage(pageId));
    this.#root.pageId = pageId;
    this.#query = query;
    const context = getContext({ config, lowdefy: this.#root });
    const saved = this.#saved[pageId];
    if (saved) {
      restoreContext(context, saved);
      delete this.#saved[pageId];
    }
    this.#context = context;
    this.blocks.show(context._internal.RootBlocks);
    const { title } = config.properties ?? {};
    const named = typeof title === "string" && title ? title : (await this.pages()).find((page) => page.pageId === pageId)?.title;
    this.#title = named ?? pageId;
  }

  /**
   * Triggers `onMount` of blocks that are shown for the first time since the page was opened. Returns whether there were
   * any.
   */
  async #mount(): Promise<boolean> {
    const started: Promise<unknown>[] = [];
    for (const { block, isShown } of [...this.blocks.all.values()].reverse()) {
      const { onMount, onMountAsync } = block.Events.events;
      if (!isShown || (!onMount && !onMountAsync) || this.#mounted.has(block)) continue;
      this.#mounted.add(block);
      const mounted = onMount ? block.triggerEvent({ name: "onMount" }) : Promise.resolve();
      started.push(mounted);
      if (onMountAsync) void this.activity.track(mounted.then(() => block.triggerEvent({ name: "onMountAsync" })));
    }
    await Promise.all(started);
    return started.length > 0;
  }

  #callMethod(context: ActionContext, original: ((context: ActionContext) => unknown) | undefined): unknown {
    // Registers the methods of blocks that were added meanwhile, such as those of a new item.
    void this.blocks.all;
    return original?.(context);
  }

  async #unknownPage(pageId: string): Promise<string> {
    const pages = await this.pages();
    const names = pages.slice(0, 20).map((page) => JSON.stringify(page.pageId));
    return `there is no page ${JSON.stringify(pageId.slice(0, 200))} for this user: ${names.join(", ") || "there are none"}`;
  }
}
