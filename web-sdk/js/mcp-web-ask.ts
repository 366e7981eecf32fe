/**
 * `<mcp-web-ask>`: a box in which people ask an AI that uses the tools of the page. It is a custom element without a
 * framework.
 *
 * ```html
 * <script type="module" src="http://localhost:3001/sdk/mcp-web-ask.js"></script>
 * <mcp-web-ask></mcp-web-ask>
 * ```
 *
 * In an app with a bundler, `import "mcp-web-sdk/ask"` defines the element.
 *
 * @packageDocumentation
 */

import { BoxView, isComposing } from "./ask/box-view.ts";
import { onlyPage, whenParsed } from "./ask/document.ts";
import { loadConversation, storeConversation } from "./ask/stored-conversation.ts";
import { completeStrings } from "./ask/strings.ts";
import { type Turn, applyEvent, cancelTurn, completeTurn, createTurn, failTurn, isOver } from "./ask/turn.ts";
import type { McpWeb } from "./mcp-web.ts";
import { REFUSE_QUERY, queryRefusal } from "./person/refuse-query.ts";
import type { AskEventMap, AskFailure, AskOptions, AskStrings, AskSuggestion, ForEachQuestion } from "./types/ask.ts";
import type { Query, QueryOptions, QueryResult } from "./types/query.ts";

export type * from "./types/ask.ts";

/** Maximum number of questions and answers shown. The oldest ones are removed. */
const MAX_TURNS = 50;

/** The browser's class. On a server without it, the class below has only a name. */
const HTMLElement = (globalThis.HTMLElement ?? class {}) as typeof globalThis.HTMLElement;

/**
 * The element `<mcp-web-ask>`: an input, suggestions, and the conversation. It shows the answer as markdown while the model
 * writes it, and the tools that the model uses.
 *
 * The page's `McpWeb` is the property `mcpWeb`. Without it, the element uses the only `McpWeb` of the document. If there is
 * none, the element creates one from the attributes `name`, `description` and `bridge-url`, with the options of
 * `new McpWeb()`.
 *
 * More attributes: `label`, `placeholder` and `suggestions` (a JSON array of texts), `profile` (that of the agent's own
 * tools), `markdown="off"`, and `storage="none"`, with which a reload ends the conversation. The element's children are
 * shown below the box.
 *
 * Enter sends the question, Shift+Enter begins a new line, and Escape stops the answer. The conversation is kept across
 * reloads of the tab, in `sessionStorage` under `mcp-web:ask:` and the `id` of the element.
 *
 * @example
 * ```js
 * const element = document.querySelector("mcp-web-ask");
 * element.mcpWeb = mcpWeb;
 * element.suggestions = ["Which cards are late?"];
 * element.context = () => [{ name: "selection", value: board.selected }];
 * element.addEventListener("mcp-web-ask-complete", ({ detail }) => console.log(detail.result.text));
 * ```
 */
export class McpWebAskElement extends HTMLElement {
  /** @internal */
  static readonly observedAttributes = ["label", "placeholder", "suggestions", "markdown"];

  #mcpWeb: McpWeb | undefined;
  #strings: AskStrings = {};
  #suggestions: readonly (string | AskSuggestion)[] | undefined;
  #view: BoxView | undefined;
  #isRendering = false;
  #turns: readonly Turn[] = [];
  /** The conversation of the agent. */
  #conversation: string | undefined;
  /** Stops the current answer. */
  #controller: AbortController | undefined;
  /** The options of only the newest question; `undefined` if another document has sent it. */
  #lastOptions: { only: ForEachQuestion<AskOptions | undefined> } | undefined;
  #frame: number | undefined;
  /** The `McpWeb` that was created from the attributes. */
  #own: Promise<McpWeb> | undefined;
  // These have accessors, because React, Vue and Svelte set a property only if the class has it.
  #options: ForEachQuestion<AskOptions | undefined>;
  #context: ForEachQuestion<QueryOptions["context"]>;
  #answer: ((result: QueryResult) => string | undefined) | undefined;

  /**
   * The options of every question: a value, or a function that returns it for each question. Its `context` replaces that of
   * {@link McpWebAskElement.context}.
   */
  get options(): ForEachQuestion<AskOptions | undefined> {
    return this.#options;
  }

  set options(options: ForEachQuestion<AskOptions | undefined>) {
    this.#options = options;
  }

  /**
   * The context of every question, like {@link QueryOptions.context}: a value, or a function that returns it for each
   * question.
   */
  get context(): ForEachQuestion<QueryOptions["context"]> {
    return this.#context;
  }

  set context(context: ForEachQuestion<QueryOptions["context"]>) {
    this.#context = context;
  }

  /**
   * Returns the answer to show, as markdown, for a result whose answer is not its text but a call of
   * {@link QueryOptions.responseTool}, or a value. `undefined` shows the result's own text or value.
   */
  get answer(): ((result: QueryResult) => string | undefined) | undefined {
    return this.#answer;
  }

  set answer(answer: ((result: QueryResult) => string | undefined) | undefined) {
    this.#answer = answer;
  }

  /** The page that sends the questions. By default it is the only `McpWeb` of the document. */
  get mcpWeb(): McpWeb | undefined {
    return this.#mcpWeb ?? onlyPage();
  }

  set mcpWeb(mcpWeb: McpWeb | undefined) {
    this.#mcpWeb = mcpWeb;
    if (mcpWeb) this.#attach(mcpWeb);
  }

  /** The texts of the box, such as a translation. */
  get strings(): AskStrings {
    return this.#strings;
  }

  set strings(strings: AskStrings | undefined) {
    this.#strings = strings ?? {};
    this.#renderSoon();
  }

  /** Buttons that send a question. A string is both the label and the prompt. */
  get suggestions(): readonly (string | AskSuggestion)[] {
    return this.#suggestions ?? parseSuggestions(this.getAttribute("suggestions"));
  }

  set suggestions(suggestions: readonly (string | AskSuggestion)[] | undefined) {
    this.#suggestions = suggestions;
    this.#renderSoon();
  }

  /** The placeholder of the empty input. */
  get placeholder(): string {
    return this.getAttribute("placeholder") ?? "";
  }

  set placeholder(text: string) {
    this.setAttribute("placeholder", text);
  }

  /** The name of the box and of its input. */
  get label(): string {
    return this.getAttribute("label") ?? "";
  }

  set label(text: string) {
    this.setAttribute("label", text);
  }

  /** The profile of the agent's own tools, like {@link QueryOptions.profile}, which takes precedence. */
  get profile(): string | undefined {
    return this.getAttribute("profile") || undefined;
  }

  set profile(name: string | undefined) {
    name ? this.setAttribute("profile", name) : this.removeAttribute("profile");
  }

  /** Whether a question is being answered. */
  get running(): boolean {
    const last = this.#turns.at(-1);
    return last !== undefined && !isOver(last);
  }

  /**
   * Sends a question, as if the person had written it.
   *
   * @param prompt the question
   * @param options replace {@link McpWebAskElement.options} one by one
   * @returns whether it was sent; it is not sent while another one is being answered
   */
  ask(prompt: string, options?: ForEachQuestion<AskOptions | undefined>): boolean {
    return this.#ask(createTurn(prompt, prompt), options, false);
  }

  /** Stops the answer, and cancels the running calls of the query. */
  stop(): void {
    this.#controller?.abort(new Error("the person at the page has stopped the answer"));
  }

  /** Stops the answer and removes all questions and answers. The next question begins a new conversation. */
  clear(): void {
    this.stop();
    this.#controller = undefined;
    this.#lastOptions = undefined;
    this.#turns = [];
    this.#conversation = undefined;
    this.#store();
    this.#show();
  }

  /** Focuses the input. */
  override focus(): void {
    this.#view?.focus();
  }

  /** @internal */
  connectedCallback(): void {
    if (!this.#view) {
      for (const name of ["mcpWeb", "options", "context", "answer", "strings", "suggestions", "profile"] as const) this.#upgrade(name);
      this.attachShadow({ mode: "open" });
      this.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !event.isTrusted || isComposing(event) || !this.running) return;
        // The dialog around the box stays open.
        event.preventDefault();
        this.stop();
      });
      // A question that was sent before the element was in the document continues.
      if (this.#keeps && !this.#turns.length) ({ id: this.#conversation, turns: this.#turns } = loadConversation(this.id));
      this.#render();
    }
    // Until then, scripts of the document may set the property or create the page.
    whenParsed(() => this.#connectPage());
  }

  /** @internal */
  disconnectedCallback(): void {
    queueMicrotask(() => {
      // Another element cannot resume the answer.
      if (!this.isConnected && !this.#keeps) this.stop();
    });
  }

  /** @internal */
  attributeChangedCallback(): void {
    this.#renderSoon();
  }

  /** A property that was set before the element was defined hides that of the class. */
  #upgrade(name: "mcpWeb" | "options" | "context" | "answer" | "strings" | "suggestions" | "profile"): void {
    if (!Object.hasOwn(this, name)) return;
    const value = this[name];
    delete this[name];
    Object.assign(this, { [name]: value });
  }

  get #keeps(): boolean {
    return this.getAttribute("storage") !== "none";
  }

  #connectPage(): void {
    if (!this.isConnected) return;
    this.#page().then(
      (mcpWeb) => this.#attach(mcpWeb),
      // The person is informed when they send a question.
      () => {},
    );
  }

  /** Returns the page, and creates it from the attributes if there is none. */
  async #page(): Promise<McpWeb> {
    const { mcpWeb } = this;
    if (mcpWeb) return mcpWeb;
    const attribute = (name: string) => this.getAttribute(name) ?? undefined;
    const [name, description, bridgeUrl] = [attribute("name"), attribute("description"), attribute("bridge-url")];
    if (!name) {
      throw new TypeError("<mcp-web-ask> has no McpWeb: set its property mcpWeb, or its attribute name");
    }
    const options = { name, ...(description && { description }), ...(bridgeUrl && { bridgeUrl }) };
    this.#own ??= import("./mcp-web.ts").then(({ McpWeb }) => new McpWeb(options));
    // The next question tries again, possibly with other attributes.
    this.#own.catch(() => (this.#own = undefined));
    return this.#own;
  }

  /** Resumes the question of the previous document. */
  #attach(mcpWeb: McpWeb): void {
    const last = this.#turns.at(-1);
    if (!last || isOver(last) || this.#controller) return;
    const turn = { ...last, blocks: [] };
    const { uuid } = last;
    if (uuid !== undefined && mcpWeb.openQueries.includes(uuid)) {
      void this.#follow(turn, (signal) => mcpWeb.attachQuery(uuid, { signal, approvalDialog: true }));
    } else {
      this.#change(failTurn(last, { message: completeStrings(this.#strings).interrupted, code: "QueryNotFound" }));
    }
  }

  #askSuggestion({ label, prompt = label, options }: AskSuggestion): boolean {
    // Avoids a useless call of the app's function.
    if (this.running) return false;
    return this.#ask(createTurn(label, typeof prompt === "function" ? prompt() : prompt), options);
  }

  #retry(): void {
    const last = this.#turns.at(-1);
    if (!last || !isOver(last)) return;
    // The options of another document are gone, but those of a suggestion are also available here.
    const { only } = this.#lastOptions ?? { only: this.#allSuggestions().find(({ label }) => label === last.label)?.options };
    this.#turns = this.#turns.slice(0, -1);
    this.#ask(createTurn(last.label, last.prompt), only);
  }

  /** `isPerson`: whether the person has sent the question with the controls of the box, instead of the app. */
  #ask(turn: Turn, options: ForEachQuestion<AskOptions | undefined>, isPerson = true): boolean {
    if (this.running) return false;
    // After the options are collected, the click or key may be too long ago.
    const checked = { [REFUSE_QUERY]: (!isPerson && queryRefusal()) || "" };
    this.#lastOptions = { only: options };
    this.#turns = [...this.#turns, turn].slice(-MAX_TURNS);
    this.#show();
    void this.#follow(turn, async (signal) => {
      const [mcpWeb, all] = await Promise.all([this.#page(), this.#queryOptions(turn.prompt, options)]);
      signal.throwIfAborted();
      const conversation = mcpWeb.conversation(this.#conversation ? { id: this.#conversation } : {});
      this.#conversation = conversation.id;
      return conversation.query({ ...all, ...checked }, { signal });
    });
    return true;
  }

  async #queryOptions(prompt: string, options: ForEachQuestion<AskOptions | undefined>): Promise<QueryOptions> {
    const resolve = <Value>(value: ForEachQuestion<Value>) =>
      typeof value === "function" ? (value as (prompt: string) => Value | Promise<Value>)(prompt) : value;
    const [context, general, special] = await Promise.all([resolve(this.context), resolve(this.options), resolve(options)]);
    const { profile } = this;
    const all: QueryOptions = { context, ...(profile && { profile }), ...general, ...special, prompt };
    // The element has no buttons for allowing calls.
    return { ...all, approvalDialog: true };
  }

  /** Follows a query to its end. `start` sends it. */
  async #follow(turn: Turn, start: (signal: AbortSignal) => Query | Promise<Query>): Promise<void> {
    const controller = new AbortController();
    const { prompt } = turn;
    let query: Query | undefined;
    let current = turn;
    const change = (next: Turn) => {
      // The conversation continues without this question.
      if (this.#controller === controller) this.#change((current = next));
    };
    this.#controller = controller;
    void this.#view?.renderer.prepare();
    try {
      query = await start(controller.signal);
      change({ ...current, uuid: query.uuid });
      this.#store();
      this.#emit("mcp-web-ask-start", { prompt, query });
      for await (const event of query) {
        change(applyEvent(current, event));
        this.#emit("mcp-web-ask-progress", { prompt, query, event });
      }
      const result = await query.result;
      change(completeTurn(current, result, this.answer?.(result)));
      this.#end(controller);
      this.#emit("mcp-web-ask-complete", { prompt, query, result });
    } catch (error) {
      const isStopped = controller.signal.aborted || query?.state === "cancelled";
      change(isStopped ? cancelTurn(current) : failTurn(current, failureOf(error)));
      this.#end(controller);
      isStopped ? this.#emit("mcp-web-ask-cancel", { prompt, query }) : this.#emit("mcp-web-ask-error", { prompt, query, error });
    }
  }

  #end(controller: AbortController): void {
    if (this.#controller !== controller) return;
    this.#controller = undefined;
    this.#store();
  }

  /** Replaces the newest turn. */
  #change(turn: Turn): void {
    this.#turns = [...this.#turns.slice(0, -1), turn];
    if (isOver(turn)) return this.#show();
    // Pieces of text arrive faster than they can be shown.
    this.#frame ??= requestAnimationFrame(() => this.#show());
  }

  #show(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.#view?.show(this.#turns);
  }

  #store(): void {
    if (this.#keeps) storeConversation(this.id, { id: this.#conversation, turns: this.#turns });
  }

  #emit<Type extends keyof AskEventMap>(type: Type, detail: AskEventMap[Type]["detail"]): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }

  #allSuggestions(): AskSuggestion[] {
    return this.suggestions.map((suggestion) => (typeof suggestion === "string" ? { label: suggestion } : suggestion));
  }

  /** Renders once for all properties that are set in one task. */
  #renderSoon(): void {
    if (!this.#view || this.#isRendering) return;
    this.#isRendering = true;
    queueMicrotask(() => this.#render());
  }

  #render(): void {
    this.#isRendering = false;
    const draft = this.#view?.draft ?? "";
    const hadFocus = this.shadowRoot!.activeElement !== null;
    const given = { ...this.#strings };
    if (this.hasAttribute("label")) given.label = this.label;
    if (this.hasAttribute("placeholder")) given.placeholder = this.placeholder;
    this.#view = new BoxView(
      this.shadowRoot!,
      { strings: completeStrings(given), suggestions: this.#allSuggestions(), isPlain: this.getAttribute("markdown") === "off" },
      {
        ask: (prompt) => this.#ask(createTurn(prompt, prompt), undefined),
        askSuggestion: (suggestion) => void this.#askSuggestion(suggestion),
        stop: () => this.stop(),
        retry: () => this.#retry(),
        clear: () => {
          this.clear();
          this.focus();
        },
      },
    );
    this.#view.draft = draft;
    this.#view.show(this.#turns);
    // The person already knows the earlier answers.
    this.#view.skipAnnouncements();
    if (hadFocus) this.focus();
  }
}

function failureOf(error: unknown): AskFailure {
  const { code, message = String(error), remedy } = (error ?? {}) as Partial<AskFailure>;
  return { code, message, remedy };
}

// A second copy of the SDK in the document must not define it again.
if (globalThis.customElements && !customElements.get("mcp-web-ask")) customElements.define("mcp-web-ask", McpWebAskElement);

declare global {
  interface HTMLElementTagNameMap {
    "mcp-web-ask": McpWebAskElement;
  }
  interface GlobalEventHandlersEventMap extends AskEventMap {}
}

/** Returns the texts of the attribute `suggestions`, which is a JSON array. Any other value is reported, and results in no texts. */
function parseSuggestions(json: string | null): string[] {
  if (json === null) return [];
  try {
    const texts: unknown = JSON.parse(json);
    if (Array.isArray(texts) && texts.every((text) => typeof text === "string")) return texts;
  } catch {
    // The warning below says what is expected.
  }
  console.warn(`mcp-web: the attribute suggestions of <mcp-web-ask> must be a JSON array of texts, and is ${json}`);
  return [];
}
