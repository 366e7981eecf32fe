/** The browser objects that actions and operators use. Features that only a browser has cause a warning. */

import type { Activity } from "./activity.ts";
import type { PagePlugins } from "./plugins.ts";

/** The window size for `_media`. */
const WINDOW = { innerWidth: 1280, innerHeight: 800 };
/** The address for `_location`. No request is sent there. */
const ORIGIN = "http://lowdefy.invalid";

/** Actions of Lowdefy that affect a browser rather than the page. */
const BROWSER_ACTIONS = ["CopyToClipboard", "ScrollTo", "SetFocus", "GeolocationCurrentPosition", "Login", "Logout", "UpdateSession"];

/** Returns the object that the engine passes as `globals`. `place` returns the location of the session. */
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

/** Returns the actions of an app; those that need a browser report that. */
export function withoutBrowser(actions: PagePlugins["actions"], activity: Activity): PagePlugins["actions"] {
  const replaced = Object.keys(actions).filter((name) => BROWSER_ACTIONS.includes(name));
  const warn = (name: string) => () => activity.warn(`${name} needs a browser: it did nothing here`);
  return { ...actions, ...Object.fromEntries(replaced.map((name) => [name, warn(name)])) };
}
