/** The blocks of the shown page, by their ids. The engine's own map also contains removed ones. */

import { eachBlock } from "./block-index.ts";
import { DIALOG_TYPES, type MethodTools, registerMethods } from "./block-methods.ts";
import type { Block, Blocks } from "./engine-types.ts";

/** A current block. */
export interface KnownBlock {
  block: Block;
  /** Whether it and its ancestors are visible. */
  isShown: boolean;
}

/** The blocks of a page. They are read again after each change. */
export class PageBlocks {
  readonly #tools: MethodTools;
  #root: Blocks | undefined;
  #isDirty = true;
  #known = new Map<string, KnownBlock>();

  constructor(tools: Omit<MethodTools, "changed">) {
    this.#tools = { ...tools, changed: () => this.changed() };
  }

  /** The objects that methods of blocks need. */
  get tools(): MethodTools {
    return this.#tools;
  }

  /** Switches to the blocks of another page. */
  show(root: Blocks | undefined): void {
    this.#root = root;
    this.#isDirty = true;
  }

  /** Called when blocks may have been added, removed or changed. */
  changed(): void {
    this.#isDirty = true;
  }

  /** All blocks, parents before children. Their methods are registered. */
  get all(): ReadonlyMap<string, KnownBlock> {
    if (this.#isDirty) this.#read();
    return this.#known;
  }

  /** Returns whether a block is a closed dialog. */
  isClosed({ type, blockId }: Block): boolean {
    return DIALOG_TYPES.has(type) && !this.#tools.dialogs.has(blockId);
  }

  /** The dialog that covers the page, if one is open: the one opened last. */
  get openDialog(): Block | undefined {
    const open = [...this.#tools.dialogs].map((blockId) => this.all.get(blockId)).filter((known) => known?.isShown);
    return open.at(-1)?.block;
  }

  /** Returns whether a block is a given one, or inside it. */
  isIn(block: Block, container: Block): boolean {
    if (block === container) return true;
    let isInside = false;
    const visit = (visited: Block) => (isInside ||= visited === block);
    if (this.#root) {
      eachBlock(this.#root, (visited, _, inside) => {
        if (visited === container) for (const blocks of inside) eachBlock(blocks, visit);
      });
    }
    return isInside;
  }

  #read(): void {
    this.#isDirty = false;
    this.#known = new Map();
    if (!this.#root) return;
    const add = (block: Block, isShown: boolean) => {
      registerMethods(block, this.#tools);
      this.#known.set(block.blockId, { block, isShown });
    };
    eachBlock(this.#root, add, (block) => this.isClosed(block));
  }
}
