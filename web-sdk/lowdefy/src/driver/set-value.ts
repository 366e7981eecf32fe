/** Setting the value of a block as its component does when its user changes it. */

import type { Block } from "../engine/engine-types.ts";

/** Sets a value that the block takes, and triggers what follows a change by the user. */
export async function setBlockValue(block: Block, value: unknown): Promise<void> {
  block.setValue?.(value);
  if (block.Events.events.onChange) await block.triggerEvent({ name: "onChange" });
}
