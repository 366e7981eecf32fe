/**
 * Development warnings: how AI clients will interpret a definition. The bridge corrects what it can and reports what it
 * rejects. These warnings appear earlier, where the definition is written.
 */

import type { McpWeb } from "./mcp-web.ts";
import { pageRegistry } from "./mcp-web/page-registry.ts";
import { type SchemaObject, schemaWarnings } from "./dev-warnings/schema.ts";

/** Some AI clients put a prefix before a tool's name and limit both together to 60 characters. */
const RECOMMENDED_NAME_CHARS = 40;

/** A definition in its registered form: the MCP object. */
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
      ...tokenWarnings(tool),
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
      (name) => `the variable "${name}" occurs in it twice`,
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

/** The pairs of pages that were already reported, by their keys. */
const warned = new Set<string>();

/**
 * Two users of one app may share the document. Calls by the former user would then still reach the tools of that user's
 * page.
 */
function tokenWarnings({ name }: Definition): string[] {
  const keys = new Map<string, string>();
  for (const [key, { page }] of pageRegistry()) {
    const { status, hasTool } = page as Partial<McpWeb>;
    if (!hasTool?.call(page, name) || /idle|disconnected|failed/.test(status!.state)) continue;
    // The last part of a key is the token.
    const app = JSON.stringify(JSON.parse(key).slice(0, -1));
    const former = keys.get(app);
    const pair = `${former} ${key}`;
    if (former && !warned.has(pair)) {
      warned.add(pair);
      return [
        "two McpWeb objects of this app offer it with different tokens: disconnect() the one of the former user, " +
          "or give each a sessionName if both are meant",
      ];
    }
    keys.set(app, key);
  }
  return [];
}

function typeWarnings(mimeType: string | undefined): string[] {
  return when(mimeType !== undefined && !/^[\w.+-]+\/[\w.+*-]+/.test(mimeType), `"${mimeType}" is not a media type, such as text/plain`);
}

const when = (isWrong: unknown, warning: string) => (isWrong ? [warning] : []);
const duplicates = (names: string[]) => [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
