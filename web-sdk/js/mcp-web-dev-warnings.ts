/**
 * What AI clients will make of a definition, for whoever develops the app. The bridge mends what it can and says
 * what it refuses; this says it before, where the definition is written.
 */

import { type SchemaObject, schemaWarnings } from "./dev-warnings/schema.ts";

/** Some AI clients put a prefix before a tool's name and limit both together to 60 characters. */
const RECOMMENDED_NAME_CHARS = 40;

/** A definition as it is registered: the MCP object. */
interface Definition {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: SchemaObject;
  outputSchema?: SchemaObject;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean };
  arguments?: { name: string }[];
  uri?: string;
  uriTemplate?: string;
  mimeType?: string;
}

type Kind = keyof typeof WARNINGS;

/** Returns a list of sentences, which is empty if there is nothing to warn about. */
export function warningsFor(kind: Kind, definition: Definition): string[] {
  const id = definition.uriTemplate ?? definition.uri ?? definition.name;
  return WARNINGS[kind](definition).map((warning) => `${kind} "${id}": ${warning}`);
}

const WARNINGS = {
  tool(tool: Definition): string[] {
    const { description, inputSchema, outputSchema, annotations } = tool;
    return [
      ...nameWarnings(tool),
      ...when(!description?.trim(), "it has no description: models choose tools by it"),
      ...(inputSchema ? schemaWarnings("inputSchema", inputSchema) : []),
      ...(outputSchema ? schemaWarnings("outputSchema", outputSchema) : []),
      ...when(
        annotations?.readOnlyHint && annotations.destructiveHint,
        "destructiveHint says nothing about a tool with readOnlyHint: drop one of the two",
      ),
    ];
  },

  prompt(prompt: Definition): string[] {
    const names = (prompt.arguments ?? []).map(({ name }) => name);
    return [
      ...nameWarnings(prompt),
      ...when(!prompt.description && !prompt.title, "it has neither title nor description: people choose prompts by them"),
      ...duplicates(names).map((name) => `it has two arguments "${name}"`),
    ];
  },

  resource: ({ uri = "", mimeType }: Definition): string[] => [
    ...when(/^https?:/.test(uri), "clients may fetch an http(s) URI themselves: use a scheme of your own, such as board://"),
    ...typeWarnings(mimeType),
  ],

  "resource-template": ({ uriTemplate = "", mimeType }: Definition): string[] => [
    ...when(/[{][^}]*([{]|$)/.test(uriTemplate), "a brace of uriTemplate is not closed"),
    ...duplicates([...uriTemplate.matchAll(/[{][+#./;?&]?([^}]*)[}]/g)].flatMap(([, names = ""]) => names.split(","))).map(
      (name) => `the variable "${name}" stands in it twice`,
    ),
    ...typeWarnings(mimeType),
  ],
};

function nameWarnings({ name }: Definition): string[] {
  return [
    ...when(name.length > RECOMMENDED_NAME_CHARS, `its name has over ${RECOMMENDED_NAME_CHARS} characters: some AI clients cut or refuse it`),
    ...when(!/^[\w-]+$/.test(name), "its name has characters other than a-z A-Z 0-9 _ -: AI clients will see it changed"),
  ];
}

function typeWarnings(mimeType: string | undefined): string[] {
  return when(mimeType !== undefined && !/^[\w.+-]+\/[\w.+*-]+/.test(mimeType), `"${mimeType}" is no media type, such as text/plain`);
}

const when = (isWrong: unknown, warning: string) => (isWrong ? [warning] : []);
const duplicates = (names: string[]) => [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
