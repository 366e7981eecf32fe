/** MCP Apps (SEP-1865, revision 2026-01-26): a tool, and the page that shows its result. */

import { isObject } from "./objects.js";

const MIME_TYPE = "text/html;profile=mcp-app";

/** The definitions of the tool and of its `ui://` resource. */
export function appParts(definition, appName) {
  if (!isObject(definition)) throw new TypeError("addApp() needs an object: { name, description, html | url, handler }");
  const { html, url, csp, permissions, prefersBorder, domain, ...tool } = definition;
  const wrong = (what) => new TypeError(`addApp(): ${what}`);
  if (typeof tool.name !== "string" || !tool.name) throw wrong("name must be a non-empty string");
  if ((html === undefined) === (url === undefined)) throw wrong(`app "${tool.name}" needs either html or url`);
  if (html !== undefined && typeof html !== "string" && typeof html !== "function") {
    throw wrong(`html of app "${tool.name}" must be a string, or a function that returns one`);
  }
  const page = url === undefined ? undefined : sameOrigin(url, tool.name, wrong);
  const uri = `ui://${slug(appName)}/${encodeURIComponent(tool.name)}`;
  const ui = { csp, permissions, prefersBorder, domain };
  const { name, title, description, _meta } = tool;
  return {
    tool: { ...tool, _meta: { ..._meta, ui: { ..._meta?.ui, resourceUri: uri } } },
    resource: {
      uri,
      name,
      title,
      description,
      mimeType: MIME_TYPE,
      async read() {
        const text = page ? await fetched(page) : typeof html === "function" ? await html() : html;
        if (typeof text !== "string") throw new TypeError(`html() of app "${name}" must return a string`);
        const _meta = Object.values(ui).some((value) => value !== undefined) ? { ui } : undefined;
        return { text, mimeType: MIME_TYPE, _meta };
      },
    },
  };
}

/** The tool's handle, with the resource along. */
export class AppHandle {
  #tool;
  #resource;
  #change;

  constructor(tool, resource, change) {
    this.#tool = tool;
    this.#resource = resource;
    this.#change = change;
    this.name = tool.name;
    this.resourceUri = resource.uri;
  }

  get publishedName() {
    return this.#tool.publishedName;
  }

  get registered() {
    return both(this.#tool.registered, this.#resource.registered);
  }

  update(changes) {
    const { tool, resource } = this.#change(changes);
    return both(this.#tool.update(tool), this.#resource.update(resource));
  }

  remove() {
    return both(this.#tool.remove(), this.#resource.remove());
  }

  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() {
    this.remove();
  }
}

function both(...promises) {
  const all = Promise.all(promises).then(() => {});
  all.catch(() => {});
  return all;
}

function sameOrigin(url, name, wrong) {
  const here = globalThis.location?.href;
  if (!here) return url;
  const { href, origin } = new URL(url, here);
  if (origin !== globalThis.location.origin) throw wrong(`url of app "${name}" must be of this page's origin: ${href} is not`);
  return href;
}

async function fetched(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered HTTP ${response.status}`);
  return response.text();
}

function slug(name) {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "app";
}
