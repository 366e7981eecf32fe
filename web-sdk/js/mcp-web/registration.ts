/** A definition of an app (a tool, prompt, resource or template), and its registration at the bridge. */

import { McpWebError } from "./error.ts";

/** The kinds of definitions, by their names on the wire. */
export type DefinitionKind = "tool" | "prompt" | "resource" | "resource-template";

/** A definition of any kind. `validateDefinition` has checked the fields that the SDK uses. */
export type AnyDefinition = { [field: string]: any };

/** The part of the page that a handle uses. */
export interface HandlePort {
  update(registration: Registration, changes: object): Promise<void>;
  remove(registration: Registration): void;
  resourceUpdated(uri: string | URL): void;
}

/** The key of the method that `using` calls, also in browsers that do not have it. */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");

/** One added definition. An app may ignore its promises without harm. */
export class Registration {
  readonly kind: DefinitionKind;
  readonly id: string;
  key: number;
  definition: AnyDefinition;
  json: string;
  publishedName: string | undefined;
  /** Why the bridge rejected it. */
  refusal: McpWebError | undefined;
  /** Whether the app has removed it. */
  isRemoved = false;
  /** The app's handle. */
  handle!: object;
  /** Whether a client is subscribed to it; only resources can be. */
  subscribed = false;
  #registered = deferred<void>();
  readonly #removed = deferred<void>();
  #isWatched = false;

  constructor(key: number, kind: DefinitionKind, id: string, definition: AnyDefinition, json: string) {
    this.key = key;
    this.kind = kind;
    this.id = id;
    this.definition = definition;
    this.json = json;
  }

  get whenRegistered(): Promise<void> {
    return this.#registered.promise;
  }

  /** The app accesses the promise, so a rejection is reported there and not in the console. */
  watch(): Promise<void> {
    this.#isWatched = true;
    return this.whenRegistered;
  }

  get whenRemoved(): Promise<void> {
    return this.#removed.promise;
  }

  onRegistered(publishedName: string | undefined): void {
    this.refusal = undefined;
    this.publishedName = publishedName;
    this.#registered.resolve();
  }

  onRefused(error: McpWebError): void {
    this.refusal = error;
    this.#registered.reject(error);
    if (!this.#isWatched) console.error(`mcp-web: ${this.kind} "${this.id}" is not registered: ${error.message}`);
  }

  /** Nothing can be registered. The status has the reason, once for all definitions. */
  onUnavailable(error: unknown): void {
    this.#registered.reject(error);
  }

  onRejected(): void {
    this.publishedName = undefined;
    this.#registered.reject(
      new McpWebError("Removed", `${this.kind} "${this.id}" was removed or replaced`),
    );
  }

  onRemoved(): void {
    this.#removed.resolve();
  }

  /** Another registration of the same definition replaces this one. */
  follow(handle: { registered: Promise<void> }): void {
    handle.registered.then(
      () => this.#registered.resolve(),
      (error) => this.onRefused(error),
    );
  }

  /** Replaces the definition, which has to be registered again. */
  replaceDefinition(key: number, definition: AnyDefinition, json: string): Promise<void> {
    const former = this.#registered;
    this.#registered = deferred();
    this.#registered.promise.then(former.resolve, former.reject);
    this.#isWatched = false;
    this.key = key;
    this.definition = definition;
    this.json = json;
    return this.#registered.promise;
  }
}

/** The app's handle to a definition. */
class DefinitionHandle {
  readonly #registration: Registration;
  readonly #port: HandlePort;

  constructor(registration: Registration, port: HandlePort) {
    this.#registration = registration;
    this.#port = port;
    registration.handle = this;
  }

  get publishedName(): string | undefined {
    return this.#registration.publishedName;
  }

  get registered(): Promise<void> {
    return this.#registration.watch();
  }

  update(changes: object): Promise<void> {
    return this.#port.update(this.#registration, changes);
  }

  remove(): Promise<void> {
    const registration = this.#registration;
    if (!registration.isRemoved) this.#port.remove(registration);
    registration.isRemoved = true;
    return registration.whenRemoved;
  }

  [dispose](): void {
    this.remove();
  }
}

class NamedHandle extends DefinitionHandle {
  readonly name: string;

  constructor(registration: Registration, port: HandlePort) {
    super(registration, port);
    this.name = registration.id;
  }
}

class ResourceHandle extends DefinitionHandle {
  readonly uri: string;
  readonly #registration: Registration;
  readonly #port: HandlePort;

  constructor(registration: Registration, port: HandlePort) {
    super(registration, port);
    this.#registration = registration;
    this.#port = port;
    this.uri = registration.id;
  }

  get subscribed(): boolean {
    return this.#registration.subscribed;
  }

  notifyUpdated(): void {
    this.#port.resourceUpdated(this.uri);
  }
}

class ResourceTemplateHandle extends DefinitionHandle {
  readonly uriTemplate: string;
  readonly #port: HandlePort;

  constructor(registration: Registration, port: HandlePort) {
    super(registration, port);
    this.#port = port;
    this.uriTemplate = registration.id;
  }

  notifyUpdated(uri: string | URL): void {
    this.#port.resourceUpdated(uri);
  }
}

/** The handle class of each kind. */
export const HANDLES = {
  tool: NamedHandle,
  prompt: NamedHandle,
  resource: ResourceHandle,
  "resource-template": ResourceTemplateHandle,
};

/** The handles by kind, for the method that adds a definition. */
export type HandleOf<Kind extends DefinitionKind> = InstanceType<(typeof HANDLES)[Kind]>;

/** A promise that is settled from outside, and whose rejection need not be caught. */
interface Deferred<Value> {
  promise: Promise<Value>;
  resolve: (value: Value | PromiseLike<Value>) => void;
  reject: (reason?: unknown) => void;
}

function deferred<Value>(): Deferred<Value> {
  let settle!: Omit<Deferred<Value>, "promise">;
  const promise = new Promise<Value>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => {});
  return { promise, ...settle };
}
