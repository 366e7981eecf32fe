/** The English texts of the question whether the agent may make a call. */

/** Returns the displayed name of a tool. The agent's name for a tool of a source begins with the source. */
function toolName(name: string, source?: string): string {
  if (source === undefined) return name;
  const prefix = `${source}-`;
  return `${name.startsWith(prefix) ? name.slice(prefix.length) : name} (${source})`;
}

export const APPROVAL_STRINGS = {
  tool: toolName,
  approval: (tool: string) => `May the AI use ${tool}?`,
  sourceTool: (source: string) => `It is not a tool of this page, but of “${source}”.`,
};
