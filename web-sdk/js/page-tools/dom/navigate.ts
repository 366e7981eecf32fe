/** Opens a page of the app. */

import { ActionError } from "../driver.ts";
import { click } from "./click.ts";
import type { AppPage, PageToolsOptions } from "../options.ts";
import { linkTo, namedPages } from "./pages.ts";
import type { Pointer } from "./pointer.ts";

/** Opens a page, which may end this document. */
export async function openPage(pageId: string, input: object | undefined, root: Element, options: PageToolsOptions, pointer: Pointer): Promise<void> {
  const named = await namedPages(options);
  if (named && !named.some((one) => one.pageId === pageId)) {
    throw new ActionError("PageUnknown", `the app has no page ${JSON.stringify(pageId)}: get_pages lists those that it has`);
  }
  if (options.navigate) return void (await options.navigate(pageId, input));
  if (input && Object.keys(input).length) throw new ActionError("ActionUnsupported", "pages of this app take no input: leave it out, or put it into the URL");
  const url = urlOf(pageId, named);
  if (!url) throw new ActionError("PageUnknown", `${JSON.stringify(pageId)} is not a page of this app: take a pageId of get_pages`);
  const link = linkTo(root, url);
  if (link) click(link, pointer);
  else location.assign(url);
}

/** Returns the link to click to open a page; `undefined` if it is opened in another way. */
export function linkToPage(pageId: string, root: Element, { navigate }: PageToolsOptions, named: readonly AppPage[] | undefined): Element | undefined {
  const url = navigate ? undefined : urlOf(pageId, named);
  return url === undefined ? undefined : linkTo(root, url);
}

/** Returns the URL of a page, if it has one of the same origin. */
function urlOf(pageId: string, named: readonly AppPage[] | undefined): string | undefined {
  const text = named?.find((one) => one.pageId === pageId)?.url ?? pageId;
  const isUrl = /^([/?#]|\.{1,2}\/|https?:)/.test(text);
  const url = isUrl && URL.canParse(text, location.href) ? new URL(text, location.href) : undefined;
  return url?.origin === location.origin ? url.href : undefined;
}
