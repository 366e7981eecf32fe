/** Reads and changes the app's state, one call after the other. */

import { McpWebError } from "../mcp-web/error.ts";
import type { Arguments, Edit, Editor, Origin } from "./edit.ts";
import { type StateSchema, isStandardSchema } from "./markers.ts";
import { readNode } from "./schema-node.ts";
import { withDefaults } from "./values.ts";

/** The app's functions for its state. */
export interface StateFunctions {
  get(): unknown;
  set(value: any): unknown;
}

/** What is wrong with a state, as libraries say it. */
interface Issue {
  message: string;
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined;
}

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

  /** Answers with what a function makes of the state. */
  read(reader: (state: unknown) => unknown, isChecked: boolean, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#afterOthers(signal, async () => {
      const state = await this.#functions.get();
      if (isChecked) {
        const { issues } = await this.#validate(state);
        if (issues) throw new McpWebError("InvalidResult", `the state does not fit its schema: ${describe(issues, [])}`);
      }
      return reader(state);
    });
  }

  /** Changes the state, or throws and leaves it as it is. */
  change(editor: Editor, args: Arguments, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#afterOthers(signal, async () => {
      const state = await this.#functions.get();
      const edit = editor(state, args);
      if ("result" in edit) return edit.result;
      const next = edit.commit(await this.#accepted(edit));
      await this.#functions.set(next);
      this.#onChange();
      return edit.answer(next);
    });
  }

  /** Runs after the calls before it. A call that was cancelled meanwhile does not run. */
  #afterOthers<Result>(signal: AbortSignal | undefined, run: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(() => {
      signal?.throwIfAborted();
      return run();
    });
    this.#last = result.catch(() => {});
    return result;
  }

  /** Returns what the schema's library makes of a candidate, or throws an error in words of the call. */
  async #accepted({ candidate, origins }: Edit): Promise<unknown> {
    const { issues, value } = await this.#validate(candidate);
    if (issues) throw new McpWebError("InvalidArguments", describe(issues, origins));
    return value;
  }

  async #validate(value: unknown): Promise<{ value?: unknown; issues?: readonly Issue[] | undefined }> {
    const { validator, input } = this.#schema;
    if (isStandardSchema(validator)) return (await validator["~standard"].validate(value)) as { value: unknown; issues?: readonly Issue[] };
    const { validateJsonSchema } = await import("../mcp-web-json-schema.ts");
    const filled = withDefaults(readNode(input, input), value);
    const violations = validateJsonSchema(validator, filled);
    if (!violations.length) return { value: filled };
    return { issues: violations.map(({ path, message }) => ({ message, path: path.split("/").slice(1) })) };
  }
}

/** Names each problem by the parameter that it comes from, or by its place in the state. */
function describe(issues: readonly Issue[], origins: readonly Origin[]): string {
  const texts = issues.map(({ message, path = [] }) => {
    const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
    const origin = origins.find(({ place }) => place.every((key, index) => String(key) === keys[index]));
    if (!origin) return `the state would not be valid at /${keys.join("/")}: ${message}`;
    return `/${[...origin.parameter, ...keys.slice(origin.place.length)].join("/")}: ${message}`;
  });
  return [...new Set(texts)].join("; ");
}
