/** The English words with which a person is asked whether the agent may make a call. */

/** Returns the name of a tool as it is shown. The name that the agent gives to a tool of a source begins with the source. */
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
