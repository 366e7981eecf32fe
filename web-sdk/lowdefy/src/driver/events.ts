/** The events that a client may trigger. */

import type { Block } from "../engine/engine-types.ts";

/** Events that the app itself triggers when a page or a block is shown. */
const OWN_EVENTS: ReadonlySet<string> = new Set(["onInit", "onInitAsync", "onMount", "onMountAsync"]);

/** Returns the names of a block's events for its user. */
export const eventsOf = (block: Block): string[] => Object.keys(block.Events.events).filter((name) => !OWN_EVENTS.has(name));
