/** What actions and operators use of a browser. What only a browser has becomes a warning. */

import type { Activity } from "./activity.ts";
import type { PagePlugins } from "./plugins.ts";

/** The size of the window that `_media` sees. */
const WINDOW = { innerWidth: 1280, innerHeight: 800 };
/** Where `_location` is. No request is made there. */
const ORIGIN = "http://lowdefy.invalid";

/** Actions of Lowdefy that act on a browser, not on the page. */
const BROWSER_ACTIONS = ["CopyToClipboard", "ScrollTo", "SetFocus", "GeolocationCurrentPosition", "Login", "Logout", "UpdateSession"];

/** Returns what the engine passes as `globals`. `place` says where the session is. */
export function browserGlobals(place: () => string): Record<string, unknown> {
  const window = {
    ...WINDOW,
    get location() {
      const { hash, host, hostname, href, origin, pathname, port, protocol, search } = new URL(place(), ORIGIN);
      return { hash, host, hostname, href, origin, pathname, port, protocol, search };
    },
  };
  const document = { getElementById: () => null };
  return { document, fetch: (...request: Parameters<typeof fetch>) => fetch(...request), window };
}

/** Returns the actions of an app, where those that need a browser say so. */
export function withoutBrowser(actions: PagePlugins["actions"], activity: Activity): PagePlugins["actions"] {
  const replaced = Object.keys(actions).filter((name) => BROWSER_ACTIONS.includes(name));
  const warn = (name: string) => () => activity.warn(`${name} needs a browser: it did nothing here`);
  return { ...actions, ...Object.fromEntries(replaced.map((name) => [name, warn(name)])) };
}
