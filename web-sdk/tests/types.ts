// Compiled, never run: the types say what an app may rely on. Lines that must not compile say so.
import { McpWeb, McpWebError, type CallEvent, type Status, type ToolHandle } from "mcp-web-sdk";

const mcpWeb = new McpWeb({ name: "Board", authToken: async () => "0123456789abcdef", storage: "session" });

const handle: ToolHandle = mcpWeb.addTool<{ title: string }>(
  {
    name: "add_card",
    inputSchema: { type: "object", properties: { title: { type: "string" } } },
    annotations: { readOnlyHint: false },
    handler: async ({ title }, { signal, callId, client }) => {
      signal.throwIfAborted();
      return { title: title.toUpperCase(), callId, by: client?.name };
    },
  },
  { signal: AbortSignal.timeout(1000) },
);

mcpWeb.addTool({ name: "now", handler: () => Date.now() });

// @ts-expect-error a tool without a handler
mcpWeb.addTool({ name: "idle" });
// @ts-expect-error an app without a name
new McpWeb({});
// @ts-expect-error the status is the module's to change
mcpWeb.status = { state: "idle" };

export function describe(status: Status): string {
  switch (status.state) {
    case "reconnecting":
      return `${status.error.message}, again in ${status.retryInMs ?? 0} ms`;
    case "failed":
      return status.error.code === "WasmBlocked" ? "blocked" : status.error.message;
    default:
      return status.state;
  }
}

export function summary(event: CallEvent): string {
  if (event.phase === "started") return event.toolName;
  if (event.phase === "finished") return `${event.durationMs} ms: ${JSON.stringify(event.result)}`;
  return event.error.message;
}

export async function journey(): Promise<string | undefined> {
  const stop = mcpWeb.onStatusChange((status) => console.log(describe(status)));
  mcpWeb.onCall((event) => console.log(summary(event)));
  mcpWeb.onClientsChange((clients) => console.log(clients.map((client) => client.protocolVersion)));
  try {
    await mcpWeb.connect();
    await handle.registered;
  } catch (error) {
    if (error instanceof McpWebError) console.log(error.code, error.message);
  }
  {
    using scoped = mcpWeb.addTool({ name: "scoped", handler: () => null });
    console.log(scoped.name, scoped.publishedName);
  }
  await handle.remove();
  stop();
  return mcpWeb.mcpConfig?.mcpServers["Board"]?.env.AUTH_TOKEN;
}
