/**
 * The methods that components of blocks register when a browser shows them. Here they are registered for all existing
 * blocks, so that the action `CallMethod` finds them.
 */

import type { Activity } from "./activity.ts";
import type { Block } from "./engine-types.ts";

/** The open dialogs, by the ids of their blocks. */
export type OpenDialogs = Set<string>;

/** Types of blocks whose content is shown while they are open. */
export const DIALOG_TYPES: ReadonlySet<string> = new Set(["Modal", "Drawer", "ConfirmModal"]);

/** The state that the methods of a block change. */
export interface MethodTools {
  dialogs: OpenDialogs;
  activity: Activity;
  /** Maximum number of items of a list, because the engine checks all of them for each. */
  maxItems: number;
  /** Called when the visible content has changed. */
  changed(): void;
}

/** Registers the methods of a block, unless they are registered. */
export function registerMethods(block: Block, tools: MethodTools): void {
  if (block.type === "Modal" || block.type === "Drawer") {
    register(block, "toggleOpen", () => setOpen(block, !tools.dialogs.has(block.blockId), tools));
    register(block, "setOpen", ({ open }: { open?: unknown } = {}) => setOpen(block, !!open, tools));
  } else if (block.type === "ConfirmModal") {
    register(block, "open", () => setOpen(block, true, tools));
  } else if (block.type === "Message" || block.type === "Notification") {
    register(block, "open", (given: Record<string, unknown> = {}) => showMessage(block, given, tools));
  } else if (block.meta.category === "list") {
    for (const name of ["pushItem", "unshiftItem"] as const) register(block, name, () => addItem(block, name, tools.maxItems));
    for (const name of ["removeItem", "moveItemUp", "moveItemDown"] as const) register(block, name, (index: unknown) => block[name]?.(checkIndex(block, index)));
  }
}

/** Opens or closes a dialog, and triggers its events as its component does. */
export function setOpen(block: Block, isOpen: boolean, { dialogs, activity, changed }: MethodTools): void {
  if (isOpen) dialogs.add(block.blockId);
  else dialogs.delete(block.blockId);
  changed();
  const names = [isOpen ? "onOpen" : "onClose", ...(block.type === "Drawer" ? ["onToggle"] : [])];
  for (const name of names) if (block.Events.events[name]) void activity.track(block.triggerEvent({ name }));
}

/** Closes a dialog with one of its buttons, unless its event prevents that. */
export async function closeDialog(block: Block, event: string, tools: MethodTools): Promise<boolean> {
  const { success, bounced } = await block.triggerEvent({ name: event });
  if (success && !bounced) setOpen(block, false, tools);
  return success;
}

/** Adds an item to a list. @throws Error if it has the maximum number of items. */
export function addItem(block: Block, name: "pushItem" | "unshiftItem", maxItems: number, count = block.itemCount?.() ?? 0): void {
  if (count >= maxItems) throw new Error(`${block.blockId} has ${maxItems} items, which is the most (maxListItems)`);
  block[name]?.();
}

/** @throws Error if there is no such item. */
export function checkIndex(block: Block, index: unknown): number {
  const count = block.itemCount?.() ?? 0;
  if (typeof index === "number" && Number.isInteger(index) && index >= 0 && index < count) return index;
  throw new Error(`${block.blockId} has no item ${JSON.stringify(index) ?? "undefined"}: it has ${count}, from 0`);
}

function showMessage(block: Block, given: Record<string, unknown>, { activity }: MethodTools): void {
  const { content, message, description, status } = { ...block.eval?.properties, ...given } as Record<string, unknown>;
  const texts = [content, message, description].filter((text) => typeof text === "string" && text);
  activity.message(typeof status === "string" ? status : "success", texts.join(": ") || block.blockId);
}

function register(block: Block, name: string, method: (...args: never[]) => void): void {
  if (!block.methods[name]) block.registerMethod(name, method);
}
