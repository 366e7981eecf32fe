/** What a tool of the page says, for an agent to know before it begins. */

/** Runs the tool's handler: nobody else is asked. */
export async function fromTool({ id, definition }, args, port, signal) {
  const answer = await run(id, definition, args, port, signal);
  const { value, isStructured } = valueOf(answer);
  const { description, outputSchema } = definition;
  const called = Object.keys(args).length ? `called with ${JSON.stringify(args)}` : undefined;
  return {
    name: id,
    value,
    ...(isStructured && outputSchema && { schema: outputSchema }),
    ...((description || called) && { description: [description, called].filter(Boolean).join("; ") }),
    type: "tool",
  };
}

async function run(name, definition, args, port, signal) {
  let answer;
  try {
    answer = await port.toolAnswer(await definition.handler(args, contextOf(name, port, signal)), {});
  } catch (cause) {
    throw failed(name, cause?.message ?? String(cause), port, { cause });
  }
  if (answer.message !== undefined) throw failed(name, answer.message, port);
  return answer;
}

function failed(name, why, { wrong }, options) {
  const remedy = `mend what the tool says, or ask without it`;
  return wrong("HandlerFailed", `query(): the tool "${name}", which context names, has failed: ${why}`, remedy, options);
}

/** Pictures and bytes are named only: context is JSON. */
function valueOf({ result, content, structuredContent }) {
  if (content === undefined) return { value: JSON.parse(result ?? "null"), isStructured: true };
  if (structuredContent !== undefined) return { value: JSON.parse(structuredContent), isStructured: true };
  const texts = JSON.parse(content).map(({ type, text, mimeType, resource, uri }) => text ?? resource?.text ?? `[${mimeType ?? resource?.mimeType ?? uri ?? type}]`);
  return { value: texts.join("\n"), isStructured: false };
}

/** What handlers get: there is no client behind this call, but the user of the page may be asked. */
function contextOf(name, port, signal) {
  const refused = (what) =>
    Promise.reject(new port.McpWebError("ClientCapabilityMissing", `the page itself calls "${name}" for a query: there is no client to ${what}`));
  return {
    callId: `query:${name}`,
    signal,
    client: undefined,
    caller: Object.freeze({ via: "page", roles: [] }),
    progress() {},
    log() {},
    elicit: (request) => ((port.elicitInPage ?? "never") === "never" ? refused("elicit from") : port.dialog({ asker: "This page", ...request }, signal)),
    sample: () => refused("sample with"),
    listRoots: () => refused("list the roots of"),
  };
}
