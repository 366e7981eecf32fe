/** A definition that a component offers while it is mounted. */

import type { McpWeb } from "../mcp-web.ts";
import type { Handle, ResourceHandle } from "../types/handles.ts";

/** The methods of `McpWeb` that add definitions. */
type AddMethod = "addTool" | "addResource" | "addResourceTemplate" | "addPrompt" | "addApp";

/** The field that identifies a definition of each kind. A definition with another value is a different one. */
const ID_FIELDS = {
  addTool: "name",
  addResource: "uri",
  addResourceTemplate: "uriTemplate",
  addPrompt: "name",
  addApp: "name",
} as const satisfies { [method in AddMethod]: string };

/** The value that a component passes to a hook: a definition, or nothing while it is not offered. */
export type Optional<Definition> = Definition | false | null | undefined;

type Fields = { [field: string]: unknown };

/** A component's handle to its definition. The object stays the same while the component is mounted. */
export interface Offered {
  /** The name that clients see, once the bridge has accepted it. */
  readonly publishedName: string | undefined;
  /** Like {@link Handle.registered}; `undefined` while nothing is offered. */
  readonly registered: Promise<void> | undefined;
}

/** A component's handle to its resource. */
export interface OfferedResource extends Offered {
  /** Notifies subscribed clients that its content has changed. */
  notifyUpdated(): void;
}

/**
 * The mounted bindings of each name, the latest last. The latest is offered. When its component is unmounted, the previous
 * one is offered again.
 */
const mounted = new WeakMap<McpWeb, Map<string, Binding[]>>();

export class Binding implements OfferedResource {
  readonly #method: AddMethod;
  #mcpWeb: McpWeb | undefined;
  #handle: Handle<any> | undefined;
  /** The definition of the latest commit. It is a copy, because the app may change its object later. */
  #definition: Fields = {};
  /** The bindings of the same name, while this is one of them. */
  #rivals: Binding[] | undefined;
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

  /** Notifies clients that are subscribed to the resource that its content has changed. Only resources have this. */
  notifyUpdated(): void {
    (this.#handle as ResourceHandle | undefined)?.notifyUpdated();
  }

  /** Offers the current definition. Nothing is sent to the bridge unless more than its functions differ. */
  commit(mcpWeb: McpWeb, given: Optional<object>): void {
    this.#isReleased = false;
    if (!given) return this.#leave();
    const former = this.#definition;
    const definition = { ...given } as Fields;
    const idField = ID_FIELDS[this.#method];
    const isSame = this.#rivals && this.#mcpWeb === mcpWeb && former[idField] === definition[idField];
    if (!isSame) this.#leave();
    this.#definition = definition;
    this.#mcpWeb = mcpWeb;
    if (!isSame) this.#join(definition[idField]);
    else if (this.#handle && !isShallowEqual(former, definition)) {
      const absent = Object.keys(former).filter((field) => !(field in definition));
      this.#handle.update({ ...definition, ...Object.fromEntries(absent.map((field) => [field, undefined])) }).catch(() => {});
    }
  }

  /**
   * Unmounts the component. Its definition is removed at the end of the task, unless the component is mounted again:
   * React's StrictMode does that with every component.
   */
  release(): void {
    this.#isReleased = true;
    queueMicrotask(() => {
      if (this.#isReleased) this.#leave();
    });
  }

  /** Offers the definition instead of the other bindings of its name. */
  #join(id: unknown): void {
    this.#add();
    let bindings = mounted.get(this.#mcpWeb!);
    if (!bindings) mounted.set(this.#mcpWeb!, (bindings = new Map()));
    const key = `${this.#method} ${id}`;
    const rivals = bindings.get(key) ?? [];
    bindings.set(key, rivals);
    for (const rival of rivals) rival.#handle = undefined;
    rivals.push(this);
    this.#rivals = rivals;
  }

  /** Stops offering the definition. The previous binding replaces it, if there is one. */
  #leave(): void {
    const rivals = this.#rivals;
    if (!rivals) return;
    rivals.splice(rivals.indexOf(this), 1);
    const next = rivals.at(-1);
    // Adding the same name again replaces the former definition, without a gap for clients.
    if (this.#handle && next) next.#add();
    else this.#handle?.remove();
    this.#handle = undefined;
    this.#rivals = undefined;
  }

  #add(): void {
    const add = this.#mcpWeb![this.#method] as (definition: object) => Handle<any>;
    this.#handle = add.call(this.#mcpWeb, this.#definition);
  }
}

function isShallowEqual(left: Fields, right: Fields): boolean {
  const fields = Object.keys(left);
  return fields.length === Object.keys(right).length && fields.every((field) => field in right && Object.is(left[field], right[field]));
}
