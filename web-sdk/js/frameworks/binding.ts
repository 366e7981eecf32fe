/** A definition that a component offers as long as it is mounted. */

import type { McpWeb } from "../mcp-web.ts";
import type { Handle } from "../types/handles.ts";

/** The methods of `McpWeb` that add definitions. */
type AddMethod = "addTool" | "addResource" | "addResourceTemplate" | "addPrompt" | "addApp";

/** The field that identifies a definition of each kind. A definition with another is another one. */
const ID_FIELDS = {
  addTool: "name",
  addResource: "uri",
  addResourceTemplate: "uriTemplate",
  addPrompt: "name",
  addApp: "name",
} as const satisfies { [method in AddMethod]: string };

/** What a component gives a hook: a definition, or nothing as long as it is not offered. */
export type Optional<Definition> = Definition | false | null | undefined;

type Fields = { [field: string]: unknown };

/** What a component has of its definition. The object stays the same as long as the component is mounted. */
export interface Offered {
  /** The name that clients see, once the bridge has accepted it. */
  readonly publishedName: string | undefined;
  /** As {@link Handle.registered}; `undefined` while nothing is offered. */
  readonly registered: Promise<void> | undefined;
}

export class Binding implements Offered {
  readonly #method: AddMethod;
  #mcpWeb: McpWeb | undefined;
  #handle: Handle<any> | undefined;
  #definition: Fields = {};
  #isReleased = false;

  constructor(method: AddMethod) {
    this.#method = method;
  }

  get publishedName(): string | undefined {
    return this.#handle?.publishedName;
  }

  get registered(): Promise<void> | undefined {
    return this.#handle?.registered;
  }

  /** What was added, if something is offered. */
  get handle(): Handle<any> | undefined {
    return this.#handle;
  }

  /** Offers the definition as it is now. Nothing is sent to the bridge unless it differs in more than its functions. */
  commit(mcpWeb: McpWeb, given: Optional<object>): void {
    this.#isReleased = false;
    if (!given) return this.#remove();
    const definition = given as Fields;
    const idField = ID_FIELDS[this.#method];
    const isSame = this.#handle && this.#mcpWeb === mcpWeb && this.#definition[idField] === definition[idField];
    if (!isSame) {
      this.#remove();
      // The definition is copied, because the app may go on to change its object.
      this.#handle = (mcpWeb[this.#method] as (definition: object) => Handle<any>)({ ...definition });
    } else if (!isShallowEqual(this.#definition, definition)) {
      const absent = Object.keys(this.#definition).filter((field) => !(field in definition));
      this.#handle!.update({ ...definition, ...Object.fromEntries(absent.map((field) => [field, undefined])) }).catch(() => {});
    }
    this.#mcpWeb = mcpWeb;
    this.#definition = { ...definition };
  }

  /**
   * The component is unmounted. What it offers is removed at the end of the task, unless the component is mounted again:
   * React's StrictMode does that with every component.
   */
  release(): void {
    this.#isReleased = true;
    queueMicrotask(() => {
      if (this.#isReleased) this.#remove();
    });
  }

  #remove(): void {
    this.#handle?.remove();
    this.#handle = undefined;
  }
}

function isShallowEqual(left: Fields, right: Fields): boolean {
  const fields = Object.keys(left);
  return fields.length === Object.keys(right).length && fields.every((field) => field in right && Object.is(left[field], right[field]));
}
