/** The definitions of the app, and their registration at the bridge. */

import type { AddOptions } from "../types/handles.ts";
import type { CoreConnection } from "./core.ts";
import { warnAboutDefinition } from "./dev-warnings.ts";
import { McpWebError } from "./error.ts";
import type { HandedOverDefinition } from "./page-registry.ts";
import { type AnyDefinition, type DefinitionKind, HANDLES, type HandleOf, type HandlePort, Registration } from "./registration.ts";
import { notifySubscribed } from "./subscriptions.ts";
import { validateDefinition } from "./validation.ts";

/** The part of the page that definitions use. */
export interface DefinitionsPage {
  resourceUpdated(uri: string | URL): void;
  /** Returns why a connection is impossible, if so. */
  failure(): McpWebError | undefined;
}

export class Definitions {
  /** Called after each change, once a part of the page observes the definitions. */
  onChange?: () => void;
  /** All definitions that were added and not removed, by key, in the order of adding. */
  #registrations = new Map<number, Registration>();
  #nextKey = 1;
  /** The URIs that clients are subscribed to. */
  #subscribed: ReadonlySet<string> = new Set();
  #connection: CoreConnection | undefined;
  readonly #page: DefinitionsPage;
  readonly #handlePort: HandlePort;

  constructor(page: DefinitionsPage) {
    this.#page = page;
    this.#handlePort = {
      update: (registration, changes) => this.#update(registration, changes),
      remove: (registration) => this.#remove(registration),
      resourceUpdated: page.resourceUpdated,
    };
  }

  get all(): Registration[] {
    return [...this.#registrations.values()];
  }

  /** Returns all definitions, for an object that replaces this one. */
  handOver(): HandedOverDefinition[] {
    return this.all
      .filter(({ isRemoved }) => !isRemoved)
      .map((registration) => {
        const { kind, definition, handle } = registration;
        return { kind, definition, handle, follow: (successor) => registration.follow(successor) };
      });
  }

  get(key: number): Registration | undefined {
    return this.#registrations.get(key);
  }

  /** Registers all definitions through the wasm, which has been loaded. */
  connectThrough(connection: CoreConnection): void {
    this.#connection = connection;
    for (const registration of this.all) this.#register(registration);
  }

  /** Handles that the wasm cannot be loaded. */
  onUnavailable(error: unknown): void {
    for (const registration of this.all) registration.onUnavailable(error);
  }

  add<Kind extends DefinitionKind>(kind: Kind, definition: object, { signal }: AddOptions = {}): HandleOf<Kind> {
    const { id, json } = validateDefinition(kind, definition);
    const registration = new Registration(this.#nextKey++, kind, id, definition, json);
    const handle = new HANDLES[kind](registration, this.#handlePort) as HandleOf<Kind>;
    if (signal?.aborted) {
      registration.onRejected();
      registration.onRemoved();
      return handle;
    }
    signal?.addEventListener("abort", () => handle.remove(), { once: true });
    warnAboutDefinition(kind, json);
    this.#store(registration);
    this.#register(registration);
    return handle;
  }

  /** Until the wasm is loaded, a definition replaces the one of the same name here, and keeps its position. */
  #store(registration: Registration): void {
    const former = this.all.find(({ kind, id }) => kind === registration.kind && id === registration.id);
    if (former && !this.#connection) {
      former.onRejected();
      former.onRemoved();
      this.#replaceKey(former.key, registration);
    } else {
      this.#registrations.set(registration.key, registration);
    }
  }

  /** Puts the registration, under its own key, at the position of another key. */
  #replaceKey(former: number, registration: Registration): void {
    this.#registrations = new Map(
      [...this.#registrations].map((entry) => (entry[0] === former ? [registration.key, registration] : entry)),
    );
  }

  #register(registration: Registration): void {
    const { key, kind, id, json, definition } = registration;
    this.onChange?.();
    if (this.#connection) {
      const { readOnlyHint, idempotentHint } = definition.annotations ?? {};
      return this.#connection.add(key, kind, id, json, !!(kind !== "tool" || readOnlyHint || idempotentHint));
    }
    const failure = this.#page.failure();
    if (failure) registration.onUnavailable(failure);
  }

  /**
   * Changes a definition. If the bridge already has the same version, nothing is sent, and only the functions are replaced.
   *
   * A changed definition has a new key, so that a late message about the former one is not mistaken for a message about it.
   */
  #update(registration: Registration, changes: object): Promise<void> {
    const definition: AnyDefinition = { ...registration.definition, ...changes };
    const { kind, key: former } = registration;
    const { id, json } = validateDefinition(kind, definition);
    if (id !== registration.id) {
      throw new TypeError(`update() cannot make "${id}" of ${kind} "${registration.id}": remove it, and add the other`);
    }
    if (!this.#registrations.has(former)) {
      return Promise.reject(new McpWebError("Removed", `${kind} "${id}" was removed or replaced`));
    }
    if (json === registration.json && !registration.refusal) {
      registration.definition = definition;
      this.onChange?.();
      return registration.whenRegistered;
    }
    const registered = registration.replaceDefinition(this.#nextKey++, definition, json);
    this.#replaceKey(former, registration);
    warnAboutDefinition(kind, json);
    this.#register(registration);
    return registered;
  }

  #remove(registration: Registration): void {
    this.onChange?.();
    if (this.#connection) return this.#connection.remove(registration.key);
    this.#registrations.delete(registration.key);
    registration.onRejected();
    registration.onRemoved();
  }

  /** The callbacks of the wasm for definitions. */
  get hostBindings() {
    return {
      subscriptions: (uris?: string[]) => {
        this.#subscribed = new Set(uris);
        notifySubscribed(this.#registrations.values(), this.#subscribed);
      },
      registered: (key: number, publishedName?: string) => {
        const registration = this.#registrations.get(key);
        if (!registration) return;
        registration.onRegistered(publishedName);
        this.onChange?.();
        notifySubscribed([registration], this.#subscribed);
      },
      refused: (key: number, code: string, message: string) =>
        this.#registrations.get(key)?.onRefused(new McpWebError(code, message)),
      dropped: (key: number) => this.#registrations.get(key)?.onRejected(),
      removed: (key: number) => {
        const registration = this.#registrations.get(key);
        this.#registrations.delete(key);
        if (!registration) return;
        notifySubscribed([registration], new Set());
        registration.onRemoved();
      },
    };
  }
}
