/** The pages of an app: those that it names, or those that the page links to. */

import { read } from "../../dom/native.ts";
import { flatElements, is } from "./flat-tree.ts";
import { shortUrl } from "./navigation.ts";
import type { AppPage, PageToolsOptions } from "../options.ts";
import { documentOf } from "./native.ts";
import { publicText } from "./public-text.ts";
import { isPrivate } from "./shown.ts";

/** Further links are left out. */
export const MAX_PAGES = 100;
const MAX_TITLE = 200;

/** Returns the id of the open page: the app's own, if it has named the page with this URL. */
export function currentPageId(pages: readonly AppPage[] | undefined): string {
  const here = shortUrl(location.href);
  const withoutHash = here.split("#")[0];
  const named = (url: string | undefined) => url !== undefined && shortUrl(url);
  const page = pages?.find(({ url }) => named(url) === here) ?? pages?.find(({ url }) => named(url) === withoutHash);
  return page?.pageId ?? pageIdOf(location.href);
}

/** Returns the pages that the app names, if any. */
export async function namedPages({ pages }: PageToolsOptions): Promise<readonly AppPage[] | undefined> {
  const named = typeof pages === "function" ? await pages() : pages;
  if (named === undefined || (Array.isArray(named) && named.every((page) => typeof page?.pageId === "string"))) return named;
  throw new TypeError("the option pages of enablePageTools() must be, or return, a list of { pageId, title, url? }");
}

/** Returns the pages that a page links to, beginning with itself. */
export function linkedPages(root: Element): AppPage[] {
  const pages = new Map<string, AppPage>();
  const add = (pageId: string, title: string) => {
    // Removes characters that a person cannot see. The wasm has the complete table, but is not loaded for this.
    const seen = title.replace(/[\p{Default_Ignorable_Code_Point}\p{Cc}]/gu, "");
    if (!pages.has(pageId)) pages.set(pageId, { pageId, title: seen || pageId, url: pageId });
  };
  add(pageIdOf(location.href), read(document, "title"));
  for (const link of linksOf(root)) {
    add(pageIdOf(link.href), (link.getAttribute("aria-label") ?? publicText([link])).trim().slice(0, MAX_TITLE) || link.title);
    if (pages.size >= MAX_PAGES) break;
  }
  return [...pages.values()];
}

/** Returns the link to a URL, if the page has one that a person can click and that opens here. */
export function linkTo(root: Element, url: string): HTMLAnchorElement | undefined {
  for (const link of linksOf(root)) {
    const isHere = !link.target || link.target === "_self";
    if (isHere && shortUrl(link.href) === shortUrl(url) && link.checkVisibility()) return link;
  }
  return undefined;
}

/** Yields the links to pages of the same origin. */
function* linksOf(root: Element): Generator<HTMLAnchorElement> {
  for (const element of flatElements(root)) {
    if (documentOf(element) !== document || !is(element, "a") || !element.hasAttribute("href") || element.hasAttribute("download")) continue;
    if (element.origin === location.origin && !isPrivate(element)) yield element;
  }
}

/** Returns the part of a URL that identifies the page: with a fragment only if it is a route. */
function pageIdOf(url: string): string {
  const { pathname, search, hash } = new URL(url, location.href);
  return `${pathname}${search}${/^#!?\//.test(hash) ? hash : ""}`;
}
