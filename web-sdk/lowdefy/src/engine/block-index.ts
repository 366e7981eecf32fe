/** Iterates over the blocks of a page. */

import type { Block, Blocks } from "./engine-types.ts";

/**
 * Calls a function for each block, parents before children, with whether it is shown, and its content. `hidesInside`
 * returns whether the content of a shown block is hidden.
 */
export function eachBlock(blocks: Blocks, visit: (block: Block, isShown: boolean, inside: Blocks[]) => void, hidesInside: (block: Block) => boolean = () => false, isShown = true): void {
  for (const { blocks: inArea = [] } of Object.values(blocks.areas)) {
    for (const block of inArea) {
      const isVisible = isShown && block.visibleEval?.output !== false;
      if (block.meta.category === "list") block.itemCount = () => blocks.subBlocks[block.id]?.length ?? 0;
      const inside = blocks.subBlocks[block.id] ?? [];
      visit(block, isVisible, inside);
      const isInsideShown = isVisible && !hidesInside(block);
      for (const inner of inside) eachBlock(inner, visit, hidesInside, isInsideShown);
    }
  }
}
