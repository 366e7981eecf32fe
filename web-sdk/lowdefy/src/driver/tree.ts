/** The page of a session as a tree. */

import type { PageNode, PageTree, TreeOptions } from "mcp-web-sdk/page-driver";

import { DIALOG_TYPES } from "../engine/block-methods.ts";
import type { Block, Blocks } from "../engine/engine-types.ts";
import type { AppSession } from "../engine/session.ts";
import { describeBlock } from "./block-texts.ts";
import { type BlockPart, itemParts, partsOf, tabsOf } from "./block-parts.ts";

/** Events that the app itself triggers when a page or a block is shown. */
const LIFECYCLE_EVENTS: ReadonlySet<string> = new Set(["onInit", "onInitAsync", "onMount", "onMountAsync"]);

/** Menus that are drawn around the content of a page instead of in it. */
const MENUS_AROUND: ReadonlySet<string> = new Set(["PageHeaderMenu", "PageSiderMenu"]);

/** Returns the tree of a page, or of the content of one block. */
export function readTree(session: AppSession, options: TreeOptions): PageTree {
  const { context } = session;
  const reader = new TreeReader(session, options);
  const nodes = !context ? [] : reader.root(context._internal.RootBlocks, options.within);
  const pruned = prune(nodes, options.limit);
  return { root: { role: "generic", children: pruned.nodes }, elements: pruned.elements, shown: pruned.shown };
}

class TreeReader {
  readonly #session: AppSession;
  readonly #options: TreeOptions;

  constructor(session: AppSession, options: TreeOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Returns the visible nodes: an open dialog covers everything else. */
  root(blocks: Blocks, within: string | undefined): PageNode[] {
    const name = within ?? this.#session.blocks.openDialog?.blockId;
    if (name === undefined) return this.#blocks(blocks);
    const found = findWithParent(blocks, name);
    if (!found) return this.#blocks(blocks);
    const nodes = this.#block(found.block, found.parent);
    return within === undefined ? nodes : nodes.flatMap(({ children = [] }) => children);
  }

  #blocks({ areas, subBlocks }: Blocks): PageNode[] {
    const parent = { areas, subBlocks } as Blocks;
    return Object.values(areas).flatMap(({ blocks = [] }) => blocks.flatMap((block) => this.#block(block, parent)));
  }

  #block(block: Block, parent: Blocks): PageNode[] {
    if (block.visibleEval?.output === false || !block.eval || this.#session.blocks.isClosed(block)) return [];
    const described = describeBlock(block);
    if (!described) return [];
    const { children: own = [], ...node } = described;
    const children = [...own, ...this.#inside(block, parent)];
    const events = eventsOf(block);
    const canAct = block.meta.category === "input" || block.meta.category === "list" || events.length > 0 || node.role === "link" || DIALOG_TYPES.has(block.type);
    const isNamed = node.role !== "generic";
    const isTarget = canAct || (isNamed && children.length > 0 && block.meta.category === "container");
    const isOnlyText = !isTarget && !!this.#options.everyText && (isNamed || children.some(({ role }) => role === "text"));
    const hasRef = isTarget || isOnlyText;
    const isEmpty = !node.name && !hasRef && node.value === undefined && !children.length && node.role !== "separator";
    if (isEmpty) return [];
    return [
      {
        ...node,
        ...(hasRef && { ref: block.blockId }),
        ...(isOnlyText && { isOnlyText }),
        id: block.blockId,
        type: block.type,
        category: block.meta.category,
        events,
        ...(children.length && { children }),
      } as PageNode,
    ];
  }

  #inside(block: Block, parent: Blocks): PageNode[] {
    const parts = partsOf(block, this.#session).map((part) => partNode(block, part));
    const inner = parent.subBlocks[block.id] ?? [];
    if (block.meta.category === "list") {
      const items = inner.map((item, index) => ({
        role: "listitem",
        children: [...this.#blocks(item), ...itemParts(block, index).map((part) => partNode(block, part))],
      }));
      return [...items, ...parts];
    }
    if (block.meta.category !== "container") return parts;
    const [content] = inner;
    if (!content) return parts;
    if (block.type === "Tabs") return [{ role: "tablist", children: parts }, ...this.#panels(block, content)];
    const nodes = this.#blocks(content);
    if (MENUS_AROUND.has(block.type)) return [...(parts.length ? [{ role: "navigation", children: parts }] : []), ...nodes];
    return [...nodes, ...parts];
  }

  /** Returns the panels of tabs, including those of inactive tabs. */
  #panels(block: Block, content: Blocks): PageNode[] {
    return tabsOf(block).flatMap(({ key, title }) => {
      const area = content.areas[key];
      if (!area) return [];
      const children = this.#blocks({ areas: { [key]: area }, subBlocks: content.subBlocks } as unknown as Blocks);
      return [{ role: "tabpanel", name: title, children }];
    });
  }
}

function partNode(block: Block, { key, role, name, states = [], isDisabled }: BlockPart): PageNode {
  return { role, name, ref: `${block.blockId}/${key}`, states: [...(isDisabled ? ["disabled"] : []), ...states] };
}

function findWithParent(blocks: Blocks, blockId: string): { block: Block; parent: Blocks } | undefined {
  for (const { blocks: inArea = [] } of Object.values(blocks.areas)) {
    for (const block of inArea) {
      if (block.blockId === blockId) return { block, parent: blocks };
      for (const inner of blocks.subBlocks[block.id] ?? []) {
        const found = findWithParent(inner, blockId);
        if (found) return found;
      }
    }
  }
  return undefined;
}

/** Leaves out the elements beyond a limit. `elements` counts all elements, and `shown` those that are left. */
function prune(nodes: readonly PageNode[], limit: number): { nodes: PageNode[]; elements: number; shown: number } {
  let elements = 0;
  let shown = 0;
  const keep = (list: readonly PageNode[]): PageNode[] =>
    list.flatMap((node) => {
      if (node.role === "text") return shown < limit ? [node] : [];
      elements += 1;
      const isShown = shown < limit;
      if (isShown) shown += 1;
      const children = node.children && keep(node.children);
      return isShown ? [{ ...node, ...(children && { children }) }] : [];
    });
  return { nodes: keep(nodes), elements, shown };
}

/** Returns the names of a block's events that its user, and so a client, may trigger. */
export const eventsOf = (block: Block): string[] => Object.keys(block.Events.events).filter((name) => !LIFECYCLE_EVENTS.has(name));
