/** The forms of the document that are tools (`<form toolname tooldescription>`). */

import { invoke, read } from "../dom/native.ts";
import { type UnknownObject, isPlainObject } from "../mcp-web/type-guards.ts";

/** A form as a tool. */
export interface ToolForm {
  /** Whether the browser submits it: otherwise a person does. */
  isAutomatic: boolean;
}

/** Returns the forms of the document by their names, including those in open shadow roots. */
export function findForms(root: ParentNode | undefined = globalThis.document): Map<string, ToolForm> {
  const forms = new Map<string, ToolForm>();
  for (const form of elementsIn(root, "form[toolname][tooldescription]")) {
    forms.set(invoke(form, "getAttribute", "toolname")!, { isAutomatic: invoke(form, "hasAttribute", "toolautosubmit") });
  }
  for (const element of elementsIn(root, "*")) {
    const shadowRoot = read(element, "shadowRoot");
    if (shadowRoot) for (const entry of findForms(shadowRoot)) forms.set(...entry);
  }
  return forms;
}

/** Returns the elements that match a selector; none if the root is not a document of a browser. */
const elementsIn = (root: ParentNode | undefined, selector: string): Iterable<Element> => (root && read(root, "querySelectorAll")?.call(root, selector)) ?? [];

/**
 * Returns a form's schema, with the regular expressions that Chromium puts in `format` moved to `pattern`, as JSON Schema
 * requires.
 */
export function withPatterns(schema: UnknownObject): UnknownObject {
  const { properties } = schema;
  if (!isPlainObject(properties)) return schema;
  const changed = Object.entries(properties).map(([name, property]) => {
    const { format, ...others } = property as UnknownObject;
    return [name, typeof format === "string" && format.startsWith("^") ? { pattern: format, ...others } : property];
  });
  return { ...schema, properties: Object.fromEntries(changed) };
}

/** The calls of forms that wait for an answer. For two calls of one form, the browser would never answer the first. */
export class FormCalls {
  /** By the names of the forms. */
  readonly #waiting = new Map<string, { resolve(answer: string): void; reject(error: Error): void }>();

  /** Runs `execute` with a signal that fires once the result is no longer needed. */
  async run(
    name: string,
    callSignal: AbortSignal,
    execute: (signal: AbortSignal) => Promise<string | null>,
  ): Promise<string | null> {
    const controller = new AbortController();
    const cancel = () => controller.abort(callSignal.reason);
    callSignal.addEventListener("abort", cancel);
    this.#waiting.get(name)?.reject(new Error(`the form "${name}" was filled in again for a later call, and this one was not submitted`));
    let call!: { resolve(answer: string): void; reject(error: Error): void };
    const interruption = new Promise<string>((resolve, reject) => {
      call = {
        resolve,
        reject: (error) => {
          reject(error);
          controller.abort(error);
        },
      };
    });
    this.#waiting.set(name, call);
    try {
      return await Promise.race([execute(controller.signal), interruption]);
    } finally {
      callSignal.removeEventListener("abort", cancel);
      if (this.#waiting.get(name) === call) this.#waiting.delete(name);
    }
  }

  /** Answers the waiting calls before the document is left, most likely because a form was submitted. */
  leave(): void {
    for (const { resolve } of this.#waiting.values()) resolve(NAVIGATING);
  }
}

/** The answer after a form was submitted and the next page is being loaded. */
export const NAVIGATING = "The form was submitted, and the page is navigating.";
