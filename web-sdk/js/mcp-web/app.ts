/** MCP Apps (SEP-1865, revision 2026-01-26): a tool, and the page that shows its result. */

import { type AnyDefinition, type HandleOf, dispose } from "./registration.ts";
import { isObject } from "./type-guards.ts";

const MIME_TYPE = "text/html;profile=mcp-app";

/**
 * The JSON of each field for the host. A host ignores what has another form, or does not show the view. It writes the
 * addresses in `csp` into a header, where they may have a path.
 */
const UI_JSON =
  /^{("csp":{(,?"(connect|resource|frame|baseUri)Domains":\[(,?"(https?|wss?):\/\/(\*\.)?([\w-]+(\.[\w-]+)*|\[[\da-f:]+])(:\d+)?(\/[\w.~%/:@!$&()*+=-]*)?")*])*}|"permissions":{(,?"(camera|microphone|geolocation|clipboardWrite)":{})*}|"prefersBorder":(true|false)|"domain":"(https:\/\/)?[\w-]+(\.[\w-]+)*")?}$/;

/** The definitions that an app consists of. */
export interface AppParts {
  tool: AnyDefinition;
  resource: AnyDefinition;
}

/** Returns the definitions of the tool and of its `ui://` resource. */
export function appParts(definition: unknown, appName: string): AppParts {
  if (!isObject(definition)) throw new TypeError("addApp() needs an object: { name, description, html | url, handler }");
  const { html, url, csp, permissions, prefersBorder, domain, ...tool }: AnyDefinition = definition;
  const createError = (what: string) => new TypeError(`addApp(): ${what}`);
  if (typeof tool.name !== "string" || !tool.name) throw createError("name must be a non-empty string");
  if ((html === undefined) === (url === undefined)) throw createError(`app "${tool.name}" needs either html or url`);
  if (html !== undefined && typeof html !== "string" && typeof html !== "function") {
    throw createError(`html of app "${tool.name}" must be a string, or a function that returns one`);
  }
  const page = url === undefined ? undefined : sameOrigin(url, tool.name, createError);
  const uri = `ui://${slug(appName)}/${encodeURIComponent(tool.name)}`;
  const ui = { csp, permissions, prefersBorder, domain };
  for (const [field, value] of Object.entries(ui)) {
    const json = JSON.stringify({ [field]: value });
    if (!UI_JSON.test(json)) {
      throw createError(`no host reads ${json} of app "${tool.name}", but {"csp":{"connectDomains":["https://a.example"]},"domain":"b.example"}`);
    }
  }
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
        const text = page ? await fetchText(page) : typeof html === "function" ? await html() : html;
        if (typeof text !== "string") throw new TypeError(`html() of app "${name}" must return a string`);
        const _meta = Object.values(ui).some((value) => value !== undefined) ? { ui } : undefined;
        return { text, mimeType: MIME_TYPE, _meta };
      },
    },
  };
}

/** The handle of an app: that of the tool and that of the resource. */
export class AddedApp {
  readonly name: string;
  readonly resourceUri: string;
  readonly #tool: HandleOf<"tool">;
  readonly #resource: HandleOf<"resource">;
  readonly #change: (changes: object) => AppParts;

  /** `change` returns the definitions with changed fields. */
  constructor(tool: HandleOf<"tool">, resource: HandleOf<"resource">, change: (changes: object) => AppParts) {
    this.#tool = tool;
    this.#resource = resource;
    this.#change = change;
    this.name = tool.name;
    this.resourceUri = resource.uri;
  }

  get publishedName(): string | undefined {
    return this.#tool.publishedName;
  }

  get registered(): Promise<void> {
    return both(this.#tool.registered, this.#resource.registered);
  }

  update(changes: object): Promise<void> {
    const { tool, resource } = this.#change(changes);
    return both(this.#tool.update(tool), this.#resource.update(resource));
  }

  remove(): Promise<void> {
    return both(this.#tool.remove(), this.#resource.remove());
  }

  [dispose](): void {
    this.remove();
  }
}

function both(...promises: Promise<void>[]): Promise<void> {
  const all = Promise.all(promises).then(() => {});
  all.catch(() => {});
  return all;
}

function sameOrigin(url: string | URL, name: string, createError: (what: string) => TypeError): string {
  const here = globalThis.location?.href;
  if (!here) return String(url);
  const { href, origin } = new URL(url, here);
  if (origin !== globalThis.location.origin) throw createError(`url of app "${name}" must be of this page's origin: ${href} is not`);
  return href;
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered HTTP ${response.status}`);
  return response.text();
}

function slug(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "app";
}
