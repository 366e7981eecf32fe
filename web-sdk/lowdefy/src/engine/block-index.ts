/** The blocks of a page by their ids. The engine's own map keeps some that are gone. */

import type { Block, Blocks } from "./engine-types.ts";

/**
 * Calls a function with each block that is there, those inside after the one around them, and with whether it is shown.
 * `hidesInside` says of a block that is shown whether its content is not.
 */
export function eachBlock(blocks: Blocks, visit: (block: Block, isShown: boolean) => void, hidesInside: (block: Block) => boolean = () => false, isShown = true): void {
  for (const { blocks: inArea = [] } of Object.values(blocks.areas)) {
    for (const block of inArea) {
      const isVisible = isShown && block.visibleEval?.output !== false;
      if (block.meta.category === "list") block.itemCount = () => blocks.subBlocks[block.id]?.length ?? 0;
      visit(block, isVisible);
      const isInsideShown = isVisible && !hidesInside(block);
      for (const inner of blocks.subBlocks[block.id] ?? []) eachBlock(inner, visit, hidesInside, isInsideShown);
    }
  }
}
