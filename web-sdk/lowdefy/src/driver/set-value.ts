/** Sets the value of a block as its component does when its user changes it. */

import type { Block } from "../engine/engine-types.ts";

/** Sets a valid value of the block, and triggers the events of a change by the user. */
export async function setBlockValue(block: Block, value: unknown): Promise<void> {
  block.setValue?.(value);
  if (block.Events.events.onChange) await block.triggerEvent({ name: "onChange", ...changeEvent(block) });
}

/** Returns the event data that the components of a few types pass with a change. */
function changeEvent({ type, value }: Block): { event?: object } {
  if (type === "TitleInput" || type === "ParagraphInput") return { event: { value } };
  return type === "Pagination" ? { event: value as object } : {};
}
