/** The driver of a session: it looks at its page and acts on it, as `mcp-web-sdk/page-driver` requires. */

import { serializer, set } from "@lowdefy/helpers";
import { type Action, ActionError, type ActionOutcome, type PageDriver, type PageState, type PageTree, type ReadBack, type TargetFacts, type TreeOptions } from "mcp-web-sdk/page-driver";

import { closeDialog } from "../engine/block-methods.ts";
import type { Block } from "../engine/engine-types.ts";
import { type AppSession, PageUnknownError } from "../engine/session.ts";
import { describeBlock } from "./block-texts.ts";
import { keyOf } from "./choices.ts";
import { inputKind } from "./inputs.ts";
import { type BlockPart, findPart } from "./block-parts.ts";
import { setBlockValue } from "./set-value.ts";
import { checkStateSize, checkValue, parsePath } from "./state-path.ts";
import { readState } from "./state.ts";
import { eventsOf, readTree } from "./tree.ts";

/** Maximum time to wait for work that continues after an action, such as `onInitAsync`. */
const MAX_PENDING_MS = 5_000;
/** Maximum number of stale handles that are distinguished from unknown ones. */
const MAX_KNOWN_REFS = 10_000;
/** Minimum wait for a change. */
const MIN_CHANGE_MS = 50;
/** Maximum number of changed blocks in the report of an action. */
const MAX_CHANGED = 10;
const POSSIBLE = "here are setValue, triggerEvent, callMethod, setState, setGlobal, navigate and waitFor";

/** Drives the page of one session. */
export class LowdefyDriver implements PageDriver {
  readonly #session: AppSession;
  readonly #saved: () => Promise<void>;
  readonly #knownRefs = new Set<string>();
  #before: Map<string, string | undefined> = new Map();
  #pageBefore = "";
  #contextBefore: unknown;
  /** The block and the parsed value of the last `setValue`. */
  #wanted: { block: Block; value: unknown } | undefined;

  /** `saved` is called after a call has acted. */
  constructor(session: AppSession, saved: () => Promise<void>) {
    this.#session = session;
    this.#saved = saved;
  }

  page(): { pageId: string; title: string } {
    return { pageId: this.#session.pageId, title: this.#session.title };
  }

  tree(options: TreeOptions): PageTree {
    if (options.within !== undefined) this.#block(options.within);
    const tree = readTree(this.#session, options);
    this.#remember(tree.root);
    return tree;
  }

  inspect(ref: string, action: Action): TargetFacts | "stale" | "unknown" {
    const found = this.#find(ref);
    if (!found) return this.#knownRefs.has(ref) ? "stale" : "unknown";
    const { block, part, isShown } = found;
    const { blocks } = this.#session;
    const dialog = blocks.openDialog;
    const isBehind = dialog && !blocks.isIn(block, dialog);
    // A button of Lowdefy cannot be clicked while its event is running.
    const isLoading = block.eval?.loading === true || (block.type === "Button" && block.Events.events.onClick?.loading);
    const isDisabled = block.eval?.properties?.disabled === true || isLoading || part?.isDisabled;
    // A closed dialog can be opened by its methods.
    const isHidden = !isShown || (blocks.isClosed(block) && action.type !== "callMethod");
    return {
      label: part ? `${part.role} "${part.name}"` : labelOf(block),
      editable: part ? part.role === "radio" || part.role === "checkbox" : block.meta.category === "input",
      ...(isDisabled && { disabled: "disabled" as const }),
      ...(isHidden && { hidden: true }),
      ...(isBehind && !isHidden && { coveredBy: labelOf(dialog) }),
    };
  }

  focused(): undefined {
    return undefined;
  }

  beginAction(): void {
    this.#session.activity.take();
    this.#pageBefore = this.#session.pageId;
    this.#contextBefore = this.#session.context;
    this.#before = this.#evaluations();
  }

  async apply(action: Action, ref: string | undefined, _to: string | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#session.activity.run(async () => {
      try {
        await this.#apply(action, ref);
      } catch (error) {
        if (error instanceof PageUnknownError) throw new ActionError("PageUnknown", error.message);
        throw error;
      } finally {
        await this.#session.settle();
      }
    });
  }

  /** An action waits for its own effects. The remaining work is actions that the app does not wait for. */
  async rest(_isBrief: boolean, signal: AbortSignal): Promise<void> {
    const { activity } = this.#session;
    const due = performance.now() + MAX_PENDING_MS;
    while (activity.isBusy) {
      const left = due - performance.now();
      if (left <= 0) return activity.warn(`something that the action began has not ended within ${MAX_PENDING_MS} ms`);
      await Promise.race([activity.oneEnded(), sleep(left, signal)]);
      signal.throwIfAborted();
      await activity.run(() => this.#session.settle());
    }
  }

  readBack(ref: string, action: Action): ReadBack | undefined {
    const wanted = this.#wanted;
    if (action.type !== "setValue" || !wanted || this.#session.blocks.all.get(ref)?.block !== wanted.block) return undefined;
    const { block, value } = wanted;
    const textOf = (value: unknown) => String(inputKind(block).text({ ...block, value } as Block) ?? value);
    return { expected: textOf(value), actual: textOf(block.value), matches: keyOf(block.value ?? null) === keyOf(value ?? null) };
  }

  endAction(): ActionOutcome {
    const { messages, warnings } = this.#session.activity.take();
    this.#wanted = undefined;
    const isElsewhere = this.#session.pageId !== this.#pageBefore || this.#session.context !== this.#contextBefore;
    const changed = isElsewhere ? [] : this.#changed();
    this.#before = new Map();
    return {
      ...(changed.length && { changed }),
      ...(isElsewhere && { navigated: this.#session.pageId }),
      ...(messages.length && { messages }),
      ...(warnings.length && { warnings }),
    };
  }

  async change(ms: number, signal: AbortSignal): Promise<void> {
    const { activity } = this.#session;
    await sleep(Math.min(ms, MIN_CHANGE_MS), signal);
    if (activity.isBusy) await Promise.race([activity.oneEnded(), sleep(Math.max(0, ms - MIN_CHANGE_MS), signal)]);
    await activity.run(() => this.#session.settle());
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    return sleep(ms, signal);
  }

  hold(): () => void {
    return () => {};
  }

  async open(pageId: string, input: object | undefined): Promise<void> {
    await this.#session.activity.run(() => this.#session.navigate(pageId, input));
  }

  pages(): Promise<{ pageId: string; title: string }[]> {
    return this.#session.pages();
  }

  async state(): Promise<PageState> {
    return readState(this.#session);
  }

  callEnded(): Promise<void> {
    return this.#saved();
  }

  dispose(): void {}

  async #apply(action: Action, ref: string | undefined): Promise<void> {
    switch (action.type) {
      case "setValue":
        return this.#setValue(ref!, action.value);
      case "triggerEvent":
        return this.#trigger(ref!, action.event);
      case "callMethod":
        return this.#callMethod(ref!, action.method, action.args ?? []);
      case "setState":
        return this.#set(action.values ?? { [action.key!]: action.value }, false);
      case "setGlobal":
        return this.#set({ [action.key]: action.value }, true);
      case "navigate":
        return this.#session.navigate(action.pageId, action.input);
      default:
        throw new ActionError("ActionUnsupported", `${action.type} needs a window, and this app has none: ${POSSIBLE}`);
    }
  }

  async #setValue(ref: string, value: unknown): Promise<void> {
    const { block, part } = this.#found(ref);
    if (part) {
      const isOn = part.states?.includes("checked");
      if (typeof value !== "boolean") throw new ActionError("ValueRefused", `${ref} takes true or false`);
      if (value !== !!isOn) await part.click();
      return;
    }
    const parsed = inputKind(block).parse(value, block);
    this.#wanted = { block, value: parsed };
    await setBlockValue(block, parsed);
  }

  async #trigger(ref: string, event: string): Promise<void> {
    const { block, part } = this.#found(ref);
    if (part) {
      if (event !== "onClick") throw unknownEvent(ref, event, ["onClick"]);
      await part.click();
      return;
    }
    const events = eventsOf(block);
    if (!events.includes(event)) {
      if (event !== "onClick") throw unknownEvent(ref, event, events);
      return this.#click(block, events);
    }
    // The buttons of a dialog close it.
    if (block.type === "Modal" && (event === "onOk" || event === "onCancel")) {
      await closeDialog(block, event, this.#session.blocks.tools);
      return;
    }
    // A failure in it is a message or a warning, as for the app's user.
    await block.triggerEvent({ name: event });
    if (event === "onClick") this.#followLink(block);
  }

  /** Performs the effect of a click on a block that has no event for it. */
  async #click(block: Block, events: string[]): Promise<void> {
    if (block.meta.category === "input" && inputKind(block).isSwitch) return setBlockValue(block, block.value !== true);
    if (!this.#followLink(block)) throw unknownEvent(block.blockId, "onClick", events);
  }

  #followLink(block: Block): boolean {
    if (block.type !== "Anchor" && block.type !== "Button") return false;
    const { pageId, href, url, home, back, input, urlQuery, newTab, disabled } = (block.eval?.properties ?? {}) as Record<string, unknown>;
    if (![pageId, href, url, home, back].some((target) => target)) return false;
    this.#session.link({ pageId, href, url, home, back, input, urlQuery, newTab, disabled });
    return true;
  }

  async #callMethod(ref: string, method: string, args: unknown[]): Promise<void> {
    const { block } = this.#found(ref);
    const known = Object.keys(block.methods);
    if (!Object.hasOwn(block.methods, method)) {
      throw new ActionError("MethodUnknown", `${ref} has no method "${method}": ${known.join(", ") || "it has none"}`);
    }
    await block.methods[method]!(...args);
  }

  /** Sets parts of the state of the page, or of the global state, like Lowdefy's actions. */
  #set(values: Record<string, unknown>, isGlobal: boolean): void {
    const { context, global, limits } = this.#session;
    if (!context) throw new ActionError("ActionFailed", "no page is open: use navigate");
    const state = isGlobal ? global : context.state;
    checkStateSize({ state: context.state, global }, values, limits);
    const entries = Object.entries(values).map(([key, value]) => [parsePath(key, state, limits), checkValue(value, limits)] as const);
    for (const [path, value] of entries) set(state, path, serializer.copy(value));
    context._internal.RootBlocks.reset();
    context._internal.update();
  }

  #found(ref: string) {
    const found = this.#find(ref);
    if (!found) throw new ActionError("TargetStale", `${ref} is no longer on the page: take a page_snapshot`);
    return found;
  }

  #find(ref: string): { block: Block; isShown: boolean; part?: BlockPart } | undefined {
    const whole = this.#session.blocks.all.get(ref);
    const at = ref.lastIndexOf("/");
    if (whole || at < 0) return whole;
    const found = this.#session.blocks.all.get(ref.slice(0, at));
    const part = found && findPart(found.block, ref.slice(at + 1), this.#session);
    return part && { ...found, part };
  }

  #block(ref: string): Block {
    const found = this.#find(ref);
    if (found) return found.block;
    if (this.#knownRefs.has(ref)) throw new ActionError("TargetStale", `${ref} is no longer on the page: take a page_snapshot`);
    throw new ActionError("TargetNotFound", `nothing on the page is ${ref}: take a page_snapshot`);
  }

  #evaluations(): Map<string, string | undefined> {
    return new Map([...this.#session.blocks.all].map(([blockId, { block, isShown }]) => [blockId, `${isShown} ${block.eval?.validation?.status} ${block.before}`]));
  }

  #changed(): string[] {
    const changed: string[] = [];
    for (const [blockId, now] of this.#evaluations()) {
      if (this.#before.get(blockId) === now || !this.#knownRefs.has(blockId)) continue;
      changed.push(blockId);
      if (changed.length === MAX_CHANGED) break;
    }
    return changed;
  }

  #remember(node: PageTree["root"]): void {
    if (node.ref !== undefined && this.#knownRefs.size < MAX_KNOWN_REFS) this.#knownRefs.add(node.ref);
    for (const child of node.children ?? []) this.#remember(child);
  }
}

/** Returns a block as the page's text describes it, such as `button "Save"`. */
function labelOf(block: Block): string {
  const { role = block.type, name } = describeBlock(block) ?? {};
  return name ? `${role} "${name}"` : role;
}

const unknownEvent = (ref: string, event: string, known: string[]): ActionError =>
  new ActionError("EventUnknown", `${ref} has no event "${event}": ${known.join(", ") || "it has none"}`);

/** Waits for the given time, or until the signal fires. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
