/** Detects new tabs: the browser opens them only for a person, and does not report when it blocks one. */

import { read } from "../../dom/native.ts";
import { type View, isElement } from "./flat-tree.ts";
import { attributeOf, findElement, localNameOf } from "./native.ts";
import { shortUrl } from "./navigation.ts";
import type { Patches } from "./patch.ts";

/** Calls `warn` for each tab that the browser does not open, or may not have opened, while an action runs. */
export function watchNewTabs(view: View, patches: Patches, warn: (text: string) => void, signal: AbortSignal): void {
  const warnOf = (url: string, what: string) => warn(`the browser opens a new tab only for a person, and ${what} ${shortUrl(url)}: use navigate, if it is a page of this app`);
  const isPerson = () => view.navigator.userActivation?.isActive === true;
  patches.replace(view, "open", (original) => (...args) => {
    const wasPerson = isPerson();
    const opened = Reflect.apply(original, view, args) as Window | null;
    // With "noopener", nothing is returned in either case.
    if (!opened && !wasPerson) warnOf(String(args[0] ?? "about:blank"), "did not open");
    return opened;
  });
  const check = (event: Event, url: string, target: string) => {
    if (url && isNewTab(view, target) && !isPerson()) queueMicrotask(() => !event.defaultPrevented && warnOf(url, "may not have opened"));
  };
  view.addEventListener("click", (event) => {
    const link = event.composedPath().find((one): one is HTMLAnchorElement => isElement(one as Node) && /^(a|area)$/.test(localNameOf(one as Element)) && !!read(one as HTMLAnchorElement, "href"));
    if (link) check(event, textOf(link.href), textOf(link.target));
  }, { signal });
  view.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    const of = (name: string) => (event.submitter && attributeOf(event.submitter, `form${name}`)) ?? attributeOf(form, name) ?? "";
    check(event, new URL(of("action"), read(view.document, "baseURI")).href, of("target"));
  }, { signal });
}

/** Returns the text of a property of a link, which is an object in an SVG. */
const textOf = (value: string | SVGAnimatedString): string => (typeof value === "string" ? value : value.baseVal);

/** Returns whether the target of a link is not the name of an existing window. */
function isNewTab(view: View, target: string): boolean {
  if (!target || /^_(self|top|parent)$/i.test(target)) return false;
  return /^_blank$/i.test(target) || !findElement(view.document, `iframe[name=${JSON.stringify(target)}]`);
}
