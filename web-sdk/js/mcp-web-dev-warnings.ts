/**
 * What AI clients will make of a definition, for whoever develops the app. The bridge mends what it can and says
 * what it refuses; this says it before, where the definition is written.
 */

import { adviceOnSchema } from "./advice/schema.js";

export { adviseOne } from "./advice/one-per-page.js";

/** Some AI clients put a prefix before a tool's name and cap the whole at 60 characters. */
const ADVISED_NAME_CHARS = 40;

/** A list of sentences; empty when all is well. `definition`: the MCP object. */
export function adviceOn(kind, definition) {
  return ADVICE[kind](definition).map((advice) => `${kind} "${definition.uriTemplate ?? definition.uri ?? definition.name}": ${advice}`);
}

const ADVICE = {
  tool(tool) {
    const { description, inputSchema, outputSchema, annotations } = tool;
    return [
      ...adviceOnName(tool),
      ...when(!description?.trim(), "it has no description: models choose tools by it"),
      ...(inputSchema ? adviceOnSchema("inputSchema", inputSchema) : []),
      ...(outputSchema ? adviceOnSchema("outputSchema", outputSchema) : []),
      ...when(
        annotations?.readOnlyHint && annotations.destructiveHint,
        "destructiveHint says nothing about a tool with readOnlyHint: drop one of the two",
      ),
    ];
  },

  prompt(prompt) {
    const names = (prompt.arguments ?? []).map(({ name }) => name);
    return [
      ...adviceOnName(prompt),
      ...when(!prompt.description && !prompt.title, "it has neither title nor description: people choose prompts by them"),
      ...twice(names).map((name) => `it has two arguments "${name}"`),
    ];
  },

  resource: ({ uri, mimeType }) => [
    ...when(/^https?:/.test(uri), "clients may fetch an http(s) URI themselves: use a scheme of your own, such as board://"),
    ...adviceOnType(mimeType),
  ],

  "resource-template": ({ uriTemplate, mimeType }) => [
    ...when(/[{][^}]*([{]|$)/.test(uriTemplate), "a brace of uriTemplate is not closed"),
    ...twice([...uriTemplate.matchAll(/[{][+#./;?&]?([^}]*)[}]/g)].flatMap(([, names]) => names.split(","))).map(
      (name) => `the variable "${name}" stands in it twice`,
    ),
    ...adviceOnType(mimeType),
  ],
};

function adviceOnName({ name }) {
  return [
    ...when(name.length > ADVISED_NAME_CHARS, `its name has over ${ADVISED_NAME_CHARS} characters: some AI clients cut or refuse it`),
    ...when(!/^[\w-]+$/.test(name), "its name has characters other than a-z A-Z 0-9 _ -: AI clients will see it changed"),
  ];
}

function adviceOnType(mimeType) {
  return when(mimeType !== undefined && !/^[\w.+-]+\/[\w.+*-]+/.test(mimeType), `"${mimeType}" is no media type, such as text/plain`);
}

const when = (wrong, advice) => (wrong ? [advice] : []);
const twice = (names) => [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
