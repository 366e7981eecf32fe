/** Creates the tools of a state: plans and checks them. */

import { readStateSchema, type StateSchema } from "./markers.ts";
import { type Subject, type ToolPlan, basicTools, checkSystem, expandedTools } from "./plan.ts";
import { readNode } from "./schema-node.ts";
import { type SplitEntry, expandedSplitTools, splitTools } from "./split.ts";

/** The division of a state into tools. */
export interface Division {
  readonly expand?: boolean | undefined;
  readonly schemaSplit?: readonly SplitEntry[] | undefined;
}

/**
 * A higher number of tools for one state causes a warning: clients limit the number that they accept, and models choose
 * worse among many.
 */
const MANY_TOOLS = 25;

/** Returns whether the page was loaded from another machine, whose users cannot act on warnings for developers. */
function isDeployed(): boolean {
  const hostname = globalThis.location?.hostname;
  return hostname !== undefined && !/^(localhost$|127\.|\[::1\])/.test(hostname);
}

/** Returns the schema of a state, its tools in order, and whether there are more than a getter and a setter. */
export function planState(subject: Subject, given: unknown, { expand = false, schemaSplit }: Division) {
  const schema = read(subject, given);
  const isSplit = Array.isArray(schemaSplit) && readNode(schema.input, schema.input).kind === "object";
  const tools = planTools(subject, schema, expand, schemaSplit);
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`state "${subject.name}": two of its tools would be called "${twice}"`);
  if (tools.length > MANY_TOOLS && !isDeployed()) {
    console.warn(`mcp-web: state "${subject.name}" has ${tools.length} tools: models choose better among at most ${MANY_TOOLS}; divide it into several states`);
  }
  return { schema, tools, isDivided: expand || isSplit };
}

/** Returns the schema, or throws an error that names the state. */
function read({ name }: Subject, given: unknown): StateSchema {
  try {
    return readStateSchema(given);
  } catch (cause) {
    throw new TypeError(`state "${name}": ${(cause as Error).message}`, { cause });
  }
}

function planTools(subject: Subject, schema: StateSchema, expand: boolean, split: readonly SplitEntry[] | undefined): ToolPlan[] {
  const node = readNode(schema.input, schema.input);
  const parts = node.kind === "object" ? split : undefined;
  if (expand) {
    checkSystem(subject, node);
    const tools = parts?.length ? expandedSplitTools(subject, node, parts) : expandedTools(subject, [], node);
    if (tools.length === 0) {
      console.warn(
        `mcp-web: state "${subject.name}" has no tools: with expand, its schema must be an object, a list, a record or one value, and no union`,
      );
    }
    return tools;
  }
  if (parts && !Array.isArray(parts)) return splitTools(subject, schema, node, parts);
  return parts?.length ? splitTools(subject, schema, node, parts) : basicTools(subject, schema);
}
