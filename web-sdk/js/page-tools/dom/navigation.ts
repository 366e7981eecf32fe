/** Detects navigations: within the document, as routers do, or to a new document. */

import { invoke } from "../../dom/native.ts";
import { type View, pageViews } from "./flat-tree.ts";

/** The browser's event for the start of a navigation (Navigation API). */
interface NavigateEvent extends Event {
  destination: { url: string; sameDocument: boolean };
  downloadRequest: string | null;
}

export class NavigationWatch {
  readonly #from = location.href;
  readonly #pageId: string;
  readonly #getPageId: () => string;
  /** The address that the document is navigating to, until it ends or the browser shows that it does not. */
  #leavingTo: string | undefined;
  #loadingFrames = new Set<Element>();
  #isUnloaded = false;

  readonly #onExternal: (url: string) => void;

  /** `onExternal` is called with an address that another program opens, such as one of `mailto:`. */
  constructor(getPageId: () => string, onExternal: (url: string) => void, signal: AbortSignal) {
    this.#getPageId = getPageId;
    this.#onExternal = onExternal;
    this.#pageId = getPageId();
    for (const view of pageViews()) this.#watch(view, signal);
    window.addEventListener("pagehide", () => (this.#isUnloaded = true), { signal });
  }

  /** Whether the document is about to end. */
  get isLeaving(): boolean {
    return !this.#isUnloaded && (this.#leavingTo !== undefined || this.#loadingFrames.size > 0);
  }

  /** The page that the action navigated to, if any. */
  get navigated(): string | undefined {
    if (this.#leavingTo !== undefined) return this.#leavingTo;
    const pageId = this.#getPageId();
    if (pageId !== this.#pageId || this.#isUnloaded) return pageId;
    return isOtherPage(this.#from, location.href) ? pageId : undefined;
  }

  /** Discards a navigation that did not end the document: it was a download, or a response without content. */
  giveUp(): void {
    this.#leavingTo = undefined;
    this.#loadingFrames.clear();
  }

  #watch(view: View, signal: AbortSignal): void {
    // In browsers without the API, this may be an element.
    const navigation = Object.hasOwn(view, "navigation") && (view as View & { navigation?: EventTarget }).navigation;
    const frame = view === window ? undefined : (view.frameElement ?? undefined);
    const begin = (url: string) => {
      if (!frame) this.#leavingTo = url;
      else {
        this.#loadingFrames.add(frame);
        invoke(frame, "addEventListener", "load", () => this.#loadingFrames.delete(frame), { signal, once: true });
      }
    };
    if (!navigation) return view.addEventListener("beforeunload", () => begin(location.href), { signal });
    navigation.addEventListener("navigate", (event) => {
      const { destination, downloadRequest } = event as NavigateEvent;
      if (destination.sameDocument || downloadRequest !== null) return;
      const go = isExternal(destination.url) ? this.#onExternal : begin;
      // After the page's own listeners: a router handles the event and stays in its document.
      queueMicrotask(() => !event.defaultPrevented && go(shortUrl(destination.url)));
    }, { signal });
    navigation.addEventListener("navigateerror", () => frame ? this.#loadingFrames.delete(frame) : (this.#leavingTo = undefined), { signal });
    navigation.addEventListener("navigatesuccess", () => !frame && (this.#leavingTo = undefined), { signal });
  }
}

/** Returns whether another program opens an address, so that the document stays. */
const isExternal = (url: string): boolean => !/^(https?|file|about|blob|data|javascript|chrome-extension):/.test(url);

/** Returns a URL without the origin of the page. */
export function shortUrl(url: string): string {
  if (isExternal(new URL(url, location.href).href)) return url;
  const { origin, pathname, search, hash } = new URL(url, location.href);
  return `${origin === location.origin ? "" : origin}${pathname}${search}${hash}`;
}

/** Returns whether a URL is another page. It is not if only a fragment differs that is not a route. */
function isOtherPage(from: string, to: string): boolean {
  const [before, after] = [new URL(from), new URL(to)];
  if (before.origin + before.pathname + before.search !== after.origin + after.pathname + after.search) return true;
  const isRoute = (hash: string) => /^#!?\//.test(hash);
  return before.hash !== after.hash && (isRoute(before.hash) || isRoute(after.hash));
}
