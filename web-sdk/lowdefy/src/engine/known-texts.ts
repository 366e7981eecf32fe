/**
 * Operators and actions that run a text as code or as a pattern. In a browser, such a text can harm only the person who has
 * typed it. Here it is run only if it is in the app's configuration.
 */

import type { Operator, PagePlugins } from "./plugins.ts";

/** An operator or action that runs texts. */
interface Evaluator {
  /** The kind of text, for messages. */
  what: "template" | "pattern" | "name of an operator" | "name of a secret";
  /** Returns the texts that a call would run. */
  textsOf(params: unknown, methodName: string | undefined): unknown[];
}

/** By their names in the packages of Lowdefy. */
const OPERATORS: Record<string, Evaluator> = {
  _nunjucks: { what: "template", textsOf: (params) => [memberOrSelf(params, "template")] },
  _regex: { what: "pattern", textsOf: (params) => [memberOrSelf(params, "pattern")] },
  _string: {
    what: "pattern",
    textsOf: (params, method) => (["match", "replace", "search"].includes(method ?? "") ? [Array.isArray(params) ? params[1] : memberOf(params, "regex")] : []),
  },
  _change_case: { what: "pattern", textsOf: (params) => ["splitRegexp", "stripRegexp"].flatMap((name) => [memberOf(optionsOf(params), name)].flat(Infinity).map((value) => memberOrSelf(value, "pattern"))) },
  _mql: { what: "pattern", textsOf: (params) => membersDeep(params, ["$regex", "regex"]).map(literalOf) },
  _operator: { what: "name of an operator", textsOf: (params) => [memberOf(params, "name")] },
  _secret: { what: "name of a secret", textsOf: (params) => [memberOrSelf(params, "key")] },
};

/** Actions of Lowdefy's engine that match the ids of blocks. */
const ACTIONS: Record<string, Evaluator> = Object.fromEntries(
  ["Validate", "ResetValidation"].map((name) => [name, { what: "pattern", textsOf: (params) => [memberOf(params, "regex")].flat(Infinity) }]),
);

/** The names that `mcp.dynamicOperators` may contain. */
export const EVALUATORS: readonly string[] = [...Object.keys(OPERATORS), ...Object.keys(ACTIONS)];

/** The rules for texts that may be run. */
export interface TextRules {
  known: ReadonlySet<string>;
  /** Operators and actions that may run any text. */
  dynamic: readonly string[];
}

/** Returns operators that reject unknown texts. `originalNames` are their names in their packages. */
export const guardOperators = (operators: Record<string, Operator>, originalNames: OriginalNames, rules: TextRules): Record<string, Operator> =>
  guard(operators, originalNames, rules, OPERATORS, ({ params, methodName }) => [params, methodName]);

/** Returns actions that reject unknown texts. */
export const guardActions = (actions: PagePlugins["actions"], originalNames: OriginalNames, rules: TextRules): PagePlugins["actions"] =>
  guard(actions, originalNames, rules, ACTIONS, ({ params }) => [params, undefined]);

type OriginalNames = Record<string, { name: string }>;

function guard<Call, Result>(
  functions: Record<string, (call: Call) => Result>,
  originalNames: OriginalNames,
  rules: TextRules,
  evaluators: Record<string, Evaluator>,
  argumentsOf: (call: Call) => [params: unknown, methodName: string | undefined],
): Record<string, (call: Call) => Result> {
  const guarded = Object.entries(functions).map(([type, run]): [string, (call: Call) => Result] => {
    const name = originalNames[type]?.name ?? type;
    const evaluator = evaluators[name];
    if (!evaluator || rules.dynamic.includes(name)) return [type, run];
    const checked = (call: Call): Result => {
      check(name, evaluator, evaluator.textsOf(...argumentsOf(call)), rules);
      return run(call);
    };
    return [type, checked];
  });
  return Object.fromEntries(guarded);
}

function check(name: string, { what }: Evaluator, texts: unknown[], { known }: TextRules): void {
  // A list or an object would be converted to a text.
  if (texts.every((text) => (typeof text === "string" ? known.has(text) : typeof text !== "object" || text === null))) return;
  throw new Error(`${name}: the ${what} is not in the app's configuration, and is not run. The app can allow it with mcp.dynamicOperators`);
}

/** Returns the texts in a configuration that are passed to evaluators. */
export function evaluatedTexts(config: unknown): string[] {
  const texts: string[] = [];
  const visit = (value: unknown, isEvaluated: boolean): void => {
    if (typeof value === "string") {
      if (isEvaluated) texts.push(value);
    } else if (Array.isArray(value)) {
      for (const item of value) visit(item, isEvaluated);
    } else if (typeof value === "object" && value !== null) {
      const { type } = value as { type?: unknown };
      const isAction = typeof type === "string" && type in ACTIONS;
      for (const [key, inner] of Object.entries(value)) visit(inner, isEvaluated || isAction || isEvaluatorKey(key));
    }
  };
  visit(config, false);
  return texts;
}

/** In functions, the names of operators begin with additional underscores. An app may add a prefix. */
const isEvaluatorKey = (key: string): boolean => {
  const [name = ""] = key.replace(/^_+/, "").split(".");
  return key.startsWith("_") && Object.keys(OPERATORS).some((operator) => name.endsWith(operator.slice(1)));
};

const memberOrSelf = (value: unknown, name: string): unknown => (typeof value === "object" && value !== null && !Array.isArray(value) ? memberOf(value, name) : value);

/** An expression of MongoDB can result in any text, so it does not count as a text of the configuration. */
const literalOf = (value: unknown): unknown => (value === undefined || (typeof value === "string" && !value.startsWith("$")) ? value : EXPRESSION);
const EXPRESSION = "an expression";

const memberOf = (value: unknown, name: string): unknown => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined);

const optionsOf = (params: unknown): unknown => (Array.isArray(params) ? params[1] : memberOf(params, "options"));

function membersDeep(value: unknown, names: readonly string[]): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [...(names.includes(key) ? [inner] : []), ...membersDeep(inner, names)]);
}
