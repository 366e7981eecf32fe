/** The box: the conversation, the input for questions, the suggestions, and the announcements to screen readers. */

import { createElement } from "../dialog/element.ts";
import { invoke } from "../dom/native.ts";
import type { AskSuggestion } from "../types/ask.ts";
import { createButton } from "./answer-view.ts";
import { announcements } from "./speech.ts";
import type { CompleteAskStrings } from "./strings.ts";
import { styles } from "./styles.ts";
import { TextRenderer } from "./text-renderer.ts";
import { type Turn, isOver } from "./turn.ts";
import { TurnView } from "./turn-view.ts";

/** Maximum distance from the end that counts as the end, in pixels. There, new content is scrolled into view. */
const NEAR_PX = 32;
/** Maximum number of announcements kept in the document. */
const MAX_ANNOUNCEMENTS = 20;
/** The `keyCode` of all keys of a composition. */
const COMPOSITION_KEY_CODE = 229;

/**
 * Returns whether a key belongs to the composition of a character: Enter ends one, and Escape cancels one. In Safari, the
 * key that ends a composition comes after it, and only its `keyCode` says so.
 */
export const isComposing = ({ isComposing, keyCode }: KeyboardEvent): boolean => isComposing || keyCode === COMPOSITION_KEY_CODE;

/** The actions of the person. */
export interface BoxActions {
  /** Returns whether the question was sent. */
  ask(prompt: string): boolean;
  askSuggestion(suggestion: AskSuggestion): void;
  stop(): void;
  retry(): void;
  clear(): void;
}

/** The texts and settings of the box. */
export interface BoxSettings {
  strings: CompleteAskStrings;
  suggestions: readonly AskSuggestion[];
  isPlain: boolean;
}

export class BoxView {
  readonly renderer: TextRenderer;
  readonly #settings: BoxSettings;
  readonly #actions: BoxActions;
  readonly #conversation: HTMLDivElement;
  readonly #header: HTMLDivElement;
  readonly #input: HTMLTextAreaElement;
  readonly #send: HTMLButtonElement;
  readonly #stop: HTMLButtonElement;
  readonly #announcer = createElement("div", {
    class: "hidden",
    role: "status",
    // Only additions are announced, not all announcements again.
    "aria-atomic": "false",
  });
  #suggestions: HTMLButtonElement[] = [];
  #views: TurnView[] = [];
  #turns: readonly Turn[] = [];
  /** How much of the newest answer was announced. */
  #spoken = 0;

  constructor(root: ShadowRoot, settings: BoxSettings, actions: BoxActions) {
    const { strings, suggestions, isPlain } = settings;
    this.#settings = settings;
    this.#actions = actions;
    this.renderer = new TextRenderer(strings, isPlain);
    this.#conversation = createElement("div", {
      class: "conversation",
      part: "conversation",
      role: "log",
      // A separate region announces whole sentences.
      "aria-live": "off",
      "aria-label": strings.conversation,
      tabindex: 0,
    });
    this.#header = createElement("div", { class: "header", part: "header" }, [createButton("clear", strings.clear, () => actions.clear())]);
    this.#input = createElement("textarea", { class: "input", part: "input", rows: 1, autocomplete: "off", placeholder: strings.placeholder, "aria-label": strings.label });
    this.#send = createButton("send", strings.send, () => this.#askDraft());
    this.#stop = createButton("stop", strings.stop, () => actions.stop());
    this.#stop.setAttribute("aria-keyshortcuts", "Escape");
    root.adoptedStyleSheets = [styles()];
    root.replaceChildren(
      createElement("section", { class: "box", part: "box", "aria-label": strings.label }, [
        createElement("div", { class: "frame", part: "frame" }, [this.#header, this.#conversation, this.#createForm()]),
        suggestions.length ? this.#createSuggestions(suggestions) : undefined,
        createElement("slot", { class: "footer", part: "footer" }),
        this.#announcer,
      ]),
    );
    this.show([]);
  }

  /** The text that the person has typed. */
  get draft(): string {
    return this.#input.value;
  }

  set draft(text: string) {
    this.#input.value = text;
    this.#showControls();
  }

  focus(): void {
    this.#input.focus();
  }

  show(turns: readonly Turn[]): void {
    const { scrollHeight, scrollTop, clientHeight } = this.#conversation;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    const isNew = turns.length > this.#turns.length;
    const before = this.#turns;
    this.#turns = turns;
    // A turn is another one if it was left out at the beginning or asked again.
    const same = before.findIndex((turn, index) => turn.label !== turns[index]?.label || turn.prompt !== turns[index]?.prompt);
    for (const { element } of this.#views.splice(same < 0 ? turns.length : same)) invoke(element, "remove");
    this.#header.hidden = this.#conversation.hidden = !turns.length;
    turns.forEach((turn, index) => {
      const view = (this.#views[index] ??= this.#append(turn));
      view.show(turn, index === turns.length - 1);
    });
    this.#announce(isNew ? undefined : before.at(-1), turns.at(-1));
    this.#showControls();
    if (isAtEnd || isNew) this.#conversation.scrollTop = this.#conversation.scrollHeight;
  }

  /** Announces texts to screen readers. */
  announce(...texts: string[]): void {
    this.#announcer.append(...texts.map((text) => createElement("p", {}, [text])));
    while (this.#announcer.childElementCount > MAX_ANNOUNCEMENTS) invoke(this.#announcer.firstElementChild!, "remove");
  }

  /** Skips the announcement of the answer so far. */
  skipAnnouncements(): void {
    this.#announcer.replaceChildren();
  }

  #announce(before: Turn | undefined, after: Turn | undefined): void {
    if (!after) return;
    if (!before) this.#spoken = 0;
    const { texts, spoken } = announcements(before, after, this.#spoken, this.#settings.strings);
    this.#spoken = spoken;
    this.announce(...texts);
  }

  #append(turn: Turn): TurnView {
    const { strings } = this.#settings;
    const view = new TurnView(turn, {
      strings,
      renderer: this.renderer,
      onRetry: () => {
        this.#actions.retry();
        this.focus();
      },
      announce: (text) => this.announce(text),
    });
    this.#conversation.append(view.element);
    return view;
  }

  #createForm(): HTMLElement {
    // A script could submit a form.
    const form = createElement("div", { class: "form", part: "form" }, [createElement("label", {}, [this.#input]), this.#send, this.#stop]);
    this.#input.addEventListener("input", () => this.#showControls());
    this.#input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
      event.preventDefault();
      if (event.isTrusted) this.#askDraft();
    });
    return form;
  }

  #askDraft(): void {
    const prompt = this.draft.trim();
    if (prompt && this.#actions.ask(prompt)) this.draft = "";
    this.focus();
  }

  #createSuggestions(suggestions: readonly AskSuggestion[]): HTMLElement {
    this.#suggestions = suggestions.map((suggestion) => {
      const button = createButton("suggestion", suggestion.label, () => this.#actions.askSuggestion(suggestion));
      button.dir = "auto";
      return button;
    });
    const { strings } = this.#settings;
    return createElement("div", { class: "row", part: "suggestions", role: "group", "aria-label": strings.suggestions }, this.#suggestions);
  }

  #showControls(): void {
    const last = this.#turns.at(-1);
    const isRunning = last !== undefined && !isOver(last);
    const hadFocus = this.#stop.matches(":focus");
    this.#stop.hidden = !isRunning;
    this.#send.hidden = isRunning;
    this.#conversation.setAttribute("aria-busy", String(isRunning));
    this.#send.setAttribute("aria-disabled", String(!this.draft.trim()));
    for (const button of this.#suggestions) button.setAttribute("aria-disabled", String(isRunning));
    if (hadFocus && !isRunning) this.focus();
  }
}
