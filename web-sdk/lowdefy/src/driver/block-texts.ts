/** The text of each type of blocks in a page. */

import type { PageNode } from "mcp-web-sdk/page-driver";

import type { Block } from "../engine/engine-types.ts";
import { choicesOf } from "./choices.ts";
import { inputKind } from "./inputs.ts";
import { textOfHtml, textOfValue, textProperty } from "./plain-text.ts";

/** A node without its children. */
export type BlockNode = Omit<PageNode, "children"> & { children?: PageNode[] };

type Describe = (block: Block) => BlockNode;

/** Maximum number of rows of a table that are shown. */
const MAX_ROWS = 200;
/** Maximum number of characters of a chart's data. */
const MAX_DATA_CHARS = 4096;

const properties = (block: Block): Record<string, unknown> => block.eval?.properties ?? {};
const title = (block: Block): string | undefined => textProperty(properties(block).title);
const named = (role: string): Describe => (block) => ({ role, ...nameOf(title(block)) });
const generic: Describe = () => ({ role: "generic" });
const text = (read: (given: Record<string, unknown>) => unknown, role = "paragraph"): Describe => (block) => {
  const written = textOfHtml(textOfValue(read(properties(block)) ?? ""));
  return { role, children: written ? [{ role: "text", text: written }] : [] };
};

const heading: Describe = (block) => {
  const { content, level } = properties(block);
  return { role: "heading", ...nameOf(textProperty(content)), level: typeof level === "number" ? level : 1 };
};

const button: Describe = (block) => ({ role: "button", name: title(block) ?? block.blockId });

const link: Describe = (block) => {
  const { title, ariaLabel, pageId, url, href } = properties(block);
  const target = [pageId, url, href].find((value) => typeof value === "string");
  return { role: "link", name: textProperty(title) ?? textProperty(ariaLabel) ?? String(target ?? block.blockId) };
};

const picture: Describe = (block) => {
  const { alt, content, src } = properties(block);
  return { role: "img", ...nameOf(textProperty(alt) ?? textProperty(content) ?? textProperty(src)) };
};

const alert: Describe = (block) => {
  const { message, description, type } = properties(block);
  const texts = [message, description].map(textProperty).filter((text) => text !== undefined);
  return { role: type === "error" || type === "warning" ? "alert" : "status", children: texts.map((text) => ({ role: "text", text })) };
};

const result: Describe = (block) => {
  const { title, subTitle } = properties(block);
  const inside: PageNode[] = [];
  const name = textProperty(title);
  const below = textProperty(subTitle);
  if (name) inside.push({ role: "heading", name, level: 1 });
  if (below) inside.push({ role: "text", text: below });
  return { role: "group", children: inside };
};

const statistic: Describe = (block) => {
  const { value, prefix, suffix } = properties(block);
  const shown = [prefix, value, suffix].map(textOfValue).join("");
  return { role: "status", ...nameOf(title(block)), children: [{ role: "text", text: shown }] };
};

const progress: Describe = (block) => ({ role: "progressbar", value: textOfValue(properties(block).percent ?? 0) });

const descriptions: Describe = (block) => {
  const { items, title } = properties(block);
  const list: unknown[] = Array.isArray(items) ? items : typeof items === "object" && items ? Object.entries(items).map(([label, value]) => ({ label, value })) : [];
  const lines = list.map((item) => {
    const { label, value, key } = (typeof item === "object" && item !== null ? item : { value: item }) as Record<string, unknown>;
    return { role: "listitem", name: `${textOfHtml(textOfValue(label ?? key))}: ${textOfHtml(textOfValue(value))}` };
  });
  return { role: "list", ...nameOf(textProperty(title)), children: lines };
};

const comment: Describe = (block) => {
  const { author, content, datetime } = properties(block);
  const texts = [author, datetime, content].map(textProperty).filter((text) => text !== undefined);
  return { role: "article", children: texts.map((text) => ({ role: "text", text })) };
};

const table: Describe = (block) => {
  const { rowData, columnDefs } = properties(block);
  const rows: unknown[] = Array.isArray(block.value) ? block.value : Array.isArray(rowData) ? rowData : [];
  const columns = columnsOf(columnDefs, rows[0]);
  const line = (cells: string[]): PageNode => ({ role: "row", name: cells.map((cell) => cell.replace(/\s+/g, " ")).join(" | ") });
  const shown = rows.slice(0, MAX_ROWS).map((row) => line(columns.map(({ field }) => textOfValue((row as Record<string, unknown> | null)?.[field]))));
  return {
    role: "table",
    ...nameOf(title(block)),
    rows: { shown: shown.length, total: rows.length },
    children: columns.length ? [line(columns.map(({ header }) => header)), ...shown] : [],
  };
};

function columnsOf(definitions: unknown, first: unknown): { field: string; header: string }[] {
  if (!Array.isArray(definitions)) return Object.keys((first as object | null | undefined) ?? {}).map((field) => ({ field, header: field }));
  const flat = definitions.flatMap((definition: { children?: unknown[] }) => (Array.isArray(definition?.children) ? definition.children : [definition]));
  return flat.flatMap((definition) => {
    const { field, headerName, hide } = (definition ?? {}) as { field?: unknown; headerName?: unknown; hide?: unknown };
    return typeof field === "string" && hide !== true ? [{ field, header: textProperty(headerName) ?? field }] : [];
  });
}

/** A drawing: its data, as the app provides it. */
const figure: Describe = (block) => {
  const json = JSON.stringify(properties(block), (_, value: unknown) => (typeof value === "function" ? undefined : value)) ?? "";
  const data = json.length > MAX_DATA_CHARS ? `${json.slice(0, MAX_DATA_CHARS)}…` : json;
  return { role: "figure", ...nameOf(title(block)), children: [{ role: "text", text: data }] };
};

const hidden = undefined;

/** The types in Lowdefy's own packages. `undefined` means that the type has no text. */
const TEXTS: Record<string, Describe | undefined> = {
  Affix: generic,
  AgGridAlpine: table,
  AgGridAlpineDark: table,
  AgGridBalham: table,
  AgGridBalhamDark: table,
  AgGridInputAlpine: table,
  AgGridInputAlpineDark: table,
  AgGridInputBalham: table,
  AgGridInputBalhamDark: table,
  AgGridInputMaterial: table,
  AgGridMaterial: table,
  Alert: alert,
  Anchor: link,
  Avatar: picture,
  Badge: text(({ count }) => count, "generic"),
  Box: generic,
  Breadcrumb: named("navigation"),
  Button: button,
  Card: named("group"),
  Carousel: named("group"),
  Collapse: named("group"),
  Comment: comment,
  ConfirmModal: named("alertdialog"),
  Content: named("main"),
  ControlledList: named("list"),
  DangerousHtml: text(({ html }) => html),
  DangerousMarkdown: text(({ content }) => content),
  Descriptions: descriptions,
  Divider: named("separator"),
  DocSearch: named("search"),
  Drawer: named("dialog"),
  EChart: figure,
  Footer: named("contentinfo"),
  GoogleMaps: figure,
  GoogleMapsHeatmap: figure,
  GoogleMapsScript: generic,
  Header: named("banner"),
  Html: text(({ html }) => html),
  Icon: hidden,
  Img: picture,
  Label: named("group"),
  Layout: generic,
  List: named("list"),
  Markdown: text(({ content }) => content),
  MarkdownWithCode: text(({ content }) => content),
  Menu: named("navigation"),
  Message: hidden,
  MobileMenu: named("navigation"),
  Modal: named("dialog"),
  Notification: hidden,
  PageHeaderMenu: generic,
  PageSiderMenu: generic,
  Paragraph: text(({ content }) => content),
  Progress: progress,
  ProgressBar: hidden,
  Result: result,
  Sider: named("complementary"),
  Skeleton: hidden,
  SkeletonAvatar: hidden,
  SkeletonButton: hidden,
  SkeletonInput: hidden,
  SkeletonParagraph: hidden,
  Span: generic,
  Spinner: hidden,
  Statistic: statistic,
  Tabs: generic,
  Tag: text(({ title }) => title, "generic"),
  TimelineList: named("list"),
  Title: heading,
  Tooltip: text(({ title }) => title, "generic"),
};

/** The types of blocks with a text of this host. */
export const KNOWN_TEXTS: readonly string[] = Object.keys(TEXTS);

/** Returns the text of a block without its handle; `undefined` if it has none. */
export function describeBlock(block: Block): BlockNode | undefined {
  if (block.type in TEXTS) {
    const described = TEXTS[block.type]?.(block);
    return described && block.meta.category === "input" ? { ...described, ...inputStates(block) } : described;
  }
  switch (block.meta.category) {
    case "input":
      return describeInput(block);
    case "list":
      return { role: "list", ...nameOf(title(block)) };
    case "container":
      return title(block) ? { role: "group", name: title(block)! } : { role: "generic" };
    case "display":
      return describeUnknown(block);
  }
}

function describeInput(block: Block): BlockNode {
  const kind = inputKind(block);
  const value = kind.text(block);
  const options = kind.hasChoices && kind.role === "combobox" ? choicesOf(block).map(({ value, label }) => ({ value: textOfValue(value), label })) : [];
  const { label } = properties(block) as { label?: { extra?: unknown } };
  const description = textProperty(label?.extra);
  return {
    role: kind.role,
    name: labelOf(block),
    ...(value !== undefined && { value }),
    ...(options.length && { options }),
    ...(description && { description }),
    ...inputStates(block, kind.isSwitch && block.value === true ? ["checked"] : []),
  };
}

/** Returns the label of an input as its component shows it. */
export function labelOf(block: Block): string {
  const { title, label } = properties(block) as { title?: unknown; label?: { title?: unknown } };
  return textProperty(label?.title) ?? textProperty(title) ?? block.blockId;
}

function inputStates(block: Block, more: string[] = []): Pick<BlockNode, "states" | "error"> {
  const { required, validation } = block.eval ?? {};
  const states = [...(required ? ["required"] : []), ...(properties(block).disabled === true ? ["disabled"] : []), ...more];
  const isWrong = validation?.status === "error" || validation?.status === "warning";
  const reasons = [...(validation?.errors ?? []), ...(validation?.warnings ?? [])].filter((reason) => typeof reason === "string");
  return { ...(states.length && { states }), ...(isWrong && reasons.length && { error: reasons.join(" ") }) };
}

/** Describes a block of an unknown package: the properties that look like text. */
function describeUnknown(block: Block): BlockNode {
  const { content, text: given, value } = properties(block);
  const shown = [content, given, value].map(textProperty).filter((text) => text !== undefined);
  const name = title(block);
  return { role: block.Events.events.onClick ? "button" : "group", ...nameOf(name ?? (block.Events.events.onClick ? block.blockId : undefined)), children: shown.map((text) => ({ role: "text", text })) };
}

const nameOf = (name: string | undefined): { name?: string } => (name ? { name } : {});
