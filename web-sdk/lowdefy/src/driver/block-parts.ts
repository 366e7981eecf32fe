/**
 * The parts of a block that can be clicked but are not blocks: the buttons of dialogs and lists, tabs, links of menus,
 * radio buttons. Their handle is that of the block, a slash and the name of the part, such as `lines/add`.
 */

import { addItem, checkIndex, closeDialog } from "../engine/block-methods.ts";
import type { Block } from "../engine/engine-types.ts";
import type { AppSession } from "../engine/session.ts";
import type { StateLimits } from "../engine/state-limits.ts";
import { choicesOf, keyOf } from "./choices.ts";
import { textOfHtml, textProperty } from "./plain-text.ts";
import { setBlockValue } from "./set-value.ts";

/** A part of a block. */
export interface BlockPart {
  key: string;
  role: string;
  name: string;
  states?: string[];
  isDisabled?: boolean;
  /** Performs the effect of a click. */
  click(): unknown;
}

/** Maximum depth of nested menus. */
const MAX_MENU_DEPTH = 5;

/** Returns the parts of a block, in page order. */
export function partsOf(block: Block, session: AppSession): BlockPart[] {
  switch (block.type) {
    case "Modal":
    case "ConfirmModal":
      return block.eval?.properties?.footer === false ? [cancelPart(block, session)] : [cancelPart(block, session), okPart(block, session)];
    case "Drawer":
      return [{ key: "close", role: "button", name: "Close", click: () => closeDialog(block, "onClose", session.blocks.tools) }];
    case "Tabs":
      return tabsOf(block).map(({ key, title, isActive }) => tabPart(block, key, title, isActive));
    case "ControlledList":
      return block.eval?.properties?.hideAddButton ? [] : [addPart(block, session.limits)];
    case "Menu":
    case "MobileMenu":
    case "PageHeaderMenu":
    case "PageSiderMenu":
      return menuParts(block, session);
    case "Breadcrumb":
      return breadcrumbParts(block, session);
    case "RadioSelector":
    case "ButtonSelector":
      return choicesOf(block).map(({ value, label, isDisabled }, index) => ({
        key: String(index),
        role: "radio",
        name: label,
        isDisabled: isDisabled || isDisabledBlock(block),
        states: keyOf(value) === keyOf(block.value) ? ["checked"] : [],
        click: () => setBlockValue(block, value),
      }));
    case "CheckboxSelector":
      return choicesOf(block).map(({ value, label, isDisabled }, index) => checkboxPart(block, String(index), value, label, isDisabled));
    default:
      return [];
  }
}

/** Returns the buttons of an item of a list. */
export function itemParts(list: Block, index: number): BlockPart[] {
  if (list.type !== "ControlledList" || list.eval?.properties?.hideRemoveButton) return [];
  return [{ key: `remove.${index}`, role: "button", name: `Remove item ${index}`, click: () => list.removeItem?.(checkIndex(list, index)) }];
}

/** Returns the part of a handle, such as `lines/add`. */
export function findPart(block: Block, key: string, session: AppSession): BlockPart | undefined {
  const index = /^remove\.(\d+)$/.exec(key)?.[1];
  if (index !== undefined) {
    return Number(index) < (block.itemCount?.() ?? 0) ? itemParts(block, Number(index))[0] : undefined;
  }
  return partsOf(block, session).find((part) => part.key === key);
}

/** Returns the tabs of a block of the type `Tabs`. */
export function tabsOf(block: Block): { key: string; title: string; isActive: boolean }[] {
  const { tabs, activeKey, defaultActiveKey, extraAreaKey } = (block.eval?.properties ?? {}) as Record<string, unknown>;
  const areas = Object.keys((block as { areas?: object }).areas ?? {}).sort();
  const given = Array.isArray(tabs) ? (tabs as { key: string; title?: unknown }[]) : areas.map((key) => ({ key, title: key }));
  const shown = given.filter(({ key }) => key !== extraAreaKey);
  const active = activeKey ?? defaultActiveKey ?? shown[0]?.key;
  return shown.map(({ key, title }) => ({ key, title: textProperty(title) ?? key, isActive: key === active }));
}

const isDisabledBlock = (block: Block): boolean => block.eval?.properties?.disabled === true;

function tabPart(block: Block, key: string, title: string, isActive: boolean): BlockPart {
  return {
    key,
    role: "tab",
    name: title,
    states: isActive ? ["selected"] : [],
    async click() {
      await trigger(block, "onTabClick", { key });
      if (!isActive) await trigger(block, "onChange", { activeKey: key });
    },
  };
}

function checkboxPart(block: Block, key: string, value: unknown, label: string, isDisabled: boolean): BlockPart {
  const values: unknown[] = Array.isArray(block.value) ? block.value : [];
  const isChecked = values.some((item) => keyOf(item) === keyOf(value));
  return {
    key,
    role: "checkbox",
    name: label,
    isDisabled: isDisabled || isDisabledBlock(block),
    states: isChecked ? ["checked"] : [],
    click: () => setBlockValue(block, isChecked ? values.filter((item) => keyOf(item) !== keyOf(value)) : [...values, value]),
  };
}

function addPart(block: Block, { maxListItems }: StateLimits): BlockPart {
  const { addToFront, addItemButton } = (block.eval?.properties ?? {}) as { addToFront?: boolean; addItemButton?: { title?: unknown } };
  return {
    key: "add",
    role: "button",
    name: textProperty(addItemButton?.title) ?? "Add Item",
    click: () => addItem(block, addToFront ? "unshiftItem" : "pushItem", maxListItems),
  };
}

function okPart(block: Block, session: AppSession): BlockPart {
  const { okText } = block.eval?.properties ?? {};
  return { key: "ok", role: "button", name: textProperty(okText) ?? "Ok", click: () => closeDialog(block, "onOk", session.blocks.tools) };
}

function cancelPart(block: Block, session: AppSession): BlockPart {
  const { cancelText } = block.eval?.properties ?? {};
  return { key: "cancel", role: "button", name: textProperty(cancelText) ?? "Cancel", click: () => closeDialog(block, "onCancel", session.blocks.tools) };
}

interface MenuItem {
  type?: string;
  id?: string;
  pageId?: string;
  url?: string;
  properties?: { title?: unknown };
  links?: MenuItem[];
}

function menuParts(block: Block, session: AppSession): BlockPart[] {
  const { menuId = "default", links, menu } = (block.eval?.properties ?? {}) as { menuId?: string; links?: MenuItem[]; menu?: { menuId?: string; links?: MenuItem[] } };
  const menus = session.menus as { menuId: string; links?: MenuItem[] }[];
  const given = links ?? menu?.links ?? (menus.find((known) => known.menuId === (menu?.menuId ?? menuId)) ?? menus[0])?.links ?? [];
  return flatten(given, 0).map((item, index) => ({
    key: String(index),
    role: "link",
    name: textProperty(item.properties?.title) ?? item.pageId ?? item.url ?? String(index),
    states: item.pageId !== undefined && item.pageId === session.pageId ? ["selected"] : [],
    click: () => session.link(item.pageId === undefined ? { url: item.url } : { pageId: item.pageId }),
  }));
}

const flatten = (items: readonly MenuItem[], depth: number): MenuItem[] =>
  depth >= MAX_MENU_DEPTH ? [] : items.flatMap((item) => [...(item.pageId !== undefined || item.url !== undefined ? [item] : []), ...flatten(item.links ?? [], depth + 1)]);

function breadcrumbParts(block: Block, session: AppSession): BlockPart[] {
  const { list } = block.eval?.properties ?? {};
  if (!Array.isArray(list)) return [];
  return list.map((entry: unknown, index) => {
    const { label, ...target } = (typeof entry === "object" && entry !== null ? entry : { label: entry }) as Record<string, unknown>;
    return { key: String(index), role: "link", name: typeof label === "string" ? textOfHtml(label) : String(index), click: () => session.link(target) };
  });
}

async function trigger(block: Block, name: string, event?: object): Promise<void> {
  if (block.Events.events[name]) await block.triggerEvent({ name, ...(event && { event }) });
}
