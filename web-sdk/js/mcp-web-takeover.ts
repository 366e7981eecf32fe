/** Several copies of the SDK in one page: the newest of them is used. Loaded when a second version appears. */

import type { McpWeb } from "./mcp-web.ts";
import type { DefinitionKind } from "./mcp-web/registration.ts";
import type { PageEntry } from "./mcp-web/page-registry.ts";
import type { McpWebOptions } from "./types/options.ts";

const METHODS = {
  tool: "addTool",
  prompt: "addPrompt",
  resource: "addResource",
  "resource-template": "addResourceTemplate",
} as const satisfies { [kind in DefinitionKind]: keyof McpWeb };

/** Interval at which a busy older version is checked again. */
const IDLE_CHECK_MS = 250;

/** The copy of the SDK that has found the `McpWeb` of another version. */
export interface MeetingCopy {
  /** The name of the app. */
  name: string;
  version: string;
  /** Returns whether the other `McpWeb` is still the one in use. */
  isCurrent(): boolean;
  /** Creates the `McpWeb` that replaces the other one. */
  create(options: McpWebOptions): McpWeb;
}

/**
 * Resolves the meeting of two versions. The newer one takes over as soon as no call and no query is running in the older
 * one.
 */
export async function meet(entry: PageEntry, { name, version, isCurrent, create }: MeetingCopy): Promise<void> {
  const isNewer = compareVersions(version, entry.version) > 0;
  const [newer, older] = isNewer ? [version, entry.version] : [entry.version, version];
  console.warn(
    `mcp-web: this page contains the versions ${older} and ${newer} of mcp-web-sdk, and "${name}" uses both: ${newer} serves. ` +
      "`npm ls mcp-web-sdk` shows where they come from; with one version, the page is smaller",
  );
  if (!isNewer) return;
  while (!entry.isIdle()) await new Promise((resolve) => setTimeout(resolve, IDLE_CHECK_MS));
  // A third version may have been faster.
  if (isCurrent()) takeOver(entry, create);
}

function takeOver(entry: PageEntry, create: MeetingCopy["create"]): void {
  const { options, definitions, notify, waiting } = entry.handOver();
  const page = create(options);
  delegate(entry.page, page);
  page.onStatusChange(notify.status);
  page.onClientsChange(notify.clients);
  page.onCall(notify.call);
  for (const { kind, definition, handle, follow } of definitions) {
    // The newer copy imports the tools of the browser itself.
    if (definition._meta?.["mcp-web/webmcp"]) continue;
    try {
      const add = page[METHODS[kind]] as (definition: object) => object;
      const successor = add.call(page, definition);
      delegate(handle, successor);
      follow(successor);
    } catch (error) {
      console.error(`mcp-web: a ${kind} of the older version is not registered: ${(error as Error).message}`);
    }
  }
  for (const { resolve, reject } of waiting) page.connect().then(resolve, reject);
}

/** Forwards all operations of the app on `object` to `successor`. */
function delegate(object: object, successor: object): void {
  const target = successor as { [name: PropertyKey]: unknown };
  for (let prototype = successor; prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const name of Reflect.ownKeys(prototype)) {
      if (name === "constructor") continue;
      const get = () => {
        const value = target[name];
        return typeof value === "function" ? value.bind(target) : value;
      };
      Object.defineProperty(object, name, { get, configurable: true });
    }
  }
}

/** Compares versions such as `1.2.3` by their numbers; a pre-release (`1.2.3-rc.1`) precedes its release. */
export function compareVersions(left: string, right: string): number {
  const [leftNumbers = "", leftTag] = left.split(/-(.*)/s);
  const [rightNumbers = "", rightTag] = right.split(/-(.*)/s);
  return (
    leftNumbers.localeCompare(rightNumbers, "en", { numeric: true }) ||
    Number(!leftTag) - Number(!rightTag) ||
    (leftTag ?? "").localeCompare(rightTag ?? "", "en", { numeric: true })
  );
}
