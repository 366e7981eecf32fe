/** Reads and changes the app's state, one call at a time. */

import { McpWebError } from "../mcp-web/error.ts";
import type { CallArguments, Edit, Editor, Origin } from "./edit.ts";
import { type StateSchema, isStandardSchema } from "./markers.ts";
import { decodePointerPart, readNode } from "./schema-node.ts";
import { isSame, withDefaults } from "./values.ts";

/** The app's functions for its state. */
export interface StateFunctions {
  get(): unknown;
  set(value: any): unknown;
}

/** A validation error of a state, as libraries report it. */
interface Issue {
  message: string;
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined;
}

/** A value after validation by a schema's library, or its validation errors. */
type Validated = { value?: unknown; issues?: readonly Issue[] | undefined };

type Validate = (value: unknown) => Promise<Validated>;

/** Maximum number of attempts of a change, because the app may change its state meanwhile. */
const MAX_ATTEMPTS = 5;

/** The state of one `createStateTools()`, and the calls that wait for it. */
export class StateAccess {
  readonly #functions: StateFunctions;
  readonly #schema: StateSchema;
  readonly #onChange: () => void;
  /** Settled when the last call has ended. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(functions: StateFunctions, schema: StateSchema, onChange: () => void) {
    this.#functions = functions;
    this.#schema = schema;
    this.#onChange = onChange;
  }

  /** Returns the result of a function of the state. If `isChecked`, the library has completed the state. */
  read(reader: (state: unknown) => unknown, isChecked: boolean, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#afterOthers(signal, async () => {
      const state = await this.#functions.get();
      if (!isChecked) return reader(state);
      const { issues, value } = await (await this.#validator())(state);
      if (issues) throw new McpWebError("InvalidResult", `the state does not fit its schema: ${describe(issues, [])}`);
      return reader(value);
    });
  }

  /** Changes the state, or throws without changing it. */
  change(editor: Editor, args: CallArguments, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#afterOthers(signal, async () => {
      const validate = await this.#validator();
      let state = await this.#functions.get();
      for (let attempt = 1; ; attempt++) {
        const edit = editor(state, args);
        if ("result" in edit) return edit.result;
        const next = edit.commit(await accepted(validate, edit));
        signal?.throwIfAborted();
        const now = await this.#functions.get();
        if (isSame(now, state)) {
          await this.#functions.set(next);
          this.#onChange();
          return edit.answer(next);
        }
        // The app has changed its state during the validation.
        if (attempt === MAX_ATTEMPTS) throw new McpWebError("HandlerFailed", "the app keeps changing the state: try again");
        state = now;
      }
    });
  }

  /**
   * Runs after earlier calls. A call that is cancelled while it waits does not run; one that is cancelled while it runs
   * lets the next one start.
   */
  #afterOthers<Result>(signal: AbortSignal | undefined, run: () => Promise<Result>): Promise<Result> {
    const cancelled = new Promise<never>((_resolve, reject) => {
      if (signal?.aborted) reject(signal.reason);
      else signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    cancelled.catch(() => {});
    const running = this.#last.then(() => {
      signal?.throwIfAborted();
      return Promise.race([run(), cancelled]);
    });
    this.#last = running.catch(() => {});
    return Promise.race([running, cancelled]);
  }

  /** Returns the validation, once it is loaded, because the time between `get` and `set` should be short. */
  async #validator(): Promise<Validate> {
    const { validator, input } = this.#schema;
    if (isStandardSchema(validator)) return async (value) => (await validator["~standard"].validate(value)) as Validated;
    const { validateJsonSchema } = await import("../mcp-web-schema-validator.ts");
    const node = readNode(input, input);
    return async (value) => {
      const filled = withDefaults(node, value);
      if (filled === undefined) return { issues: [{ message: "there is no value" }] };
      const violations = validateJsonSchema(input, filled);
      if (!violations.length) return { value: filled };
      return { issues: violations.map(({ path, message }) => ({ message, path: path.split("/").slice(1).map(decodePointerPart) })) };
    };
  }
}

/** Returns the candidate after validation by the schema's library, or throws an error that refers to the call. */
async function accepted(validate: Validate, { candidate, origins }: Edit): Promise<unknown> {
  const { issues, value } = await validate(candidate);
  if (issues) throw new McpWebError("InvalidArguments", describe(issues, origins));
  return value;
}

/** Describes each problem by the parameter that it comes from, or by its path in the state. */
function describe(issues: readonly Issue[], origins: readonly Origin[]): string {
  const texts = issues.map(({ message, path = [] }) => {
    const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
    const origin = origins.find(({ place }) => place.every((key, index) => String(key) === keys[index]));
    if (!origin) return `the state would not be valid at /${keys.join("/")}: ${message}`;
    return `/${[...origin.parameter, ...keys.slice(origin.place.length)].join("/")}: ${message}`;
  });
  return [...new Set(texts)].join("; ");
}
