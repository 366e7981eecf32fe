/** Opening a page of the app. */

import { ActionError } from "../driver.ts";
import { click } from "./click.ts";
import type { PageToolsOptions } from "../options.ts";
import { linkTo, namedPages } from "./pages.ts";
import type { Pointer } from "./pointer.ts";

/** Opens a page. What it begins may end this document. */
export async function openPage(pageId: string, input: object | undefined, root: Element, options: PageToolsOptions, pointer: Pointer): Promise<void> {
  const named = await namedPages(options);
  const page = named?.find((one) => one.pageId === pageId);
  if (named && !page) throw new ActionError("PageUnknown", `the app has no page ${JSON.stringify(pageId)}: get_pages lists those that it has`);
  if (options.navigate) return void (await options.navigate(pageId, input));
  if (input && Object.keys(input).length) throw new ActionError("ActionUnsupported", "pages of this app take no input: leave it out, or put it into the URL");
  const url = ownUrl(page?.url ?? pageId);
  const link = linkTo(root, url);
  if (link) click(link, pointer);
  else location.assign(url);
}

/** Returns a URL of the same origin. @throws ActionError with `PageUnknown` if it is none. */
function ownUrl(text: string): string {
  const isUrl = /^([/?#]|\.{1,2}\/|https?:)/.test(text);
  const url = isUrl && URL.canParse(text, location.href) ? new URL(text, location.href) : undefined;
  if (url?.origin !== location.origin) throw new ActionError("PageUnknown", `${JSON.stringify(text)} is no page of this app: take a pageId of get_pages`);
  return url.href;
}
