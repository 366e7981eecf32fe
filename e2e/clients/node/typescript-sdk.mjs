// Drives the client of the TypeScript SDK 1.x, `@modelcontextprotocol/sdk`, over Streamable HTTP or
// stdio. MCP_WEB_SDK_PACKAGE is the name that the package is installed under, so that one driver
// serves the oldest version in use and the newest.
// Usage: MCP_WEB_SDK_PACKAGE=sdk-1-newest node typescript-sdk.mjs CONFIG
import { answer, clientInfo, config, headers, onStdio, server } from "./shared.mjs";
import { nameAndVersion, news, walk } from "./shared.mjs";

const sdk = process.env.MCP_WEB_SDK_PACKAGE ?? "@modelcontextprotocol/sdk";

const { Client } = await import(`${sdk}/client/index.js`);
const { CallToolResultSchema, ElicitRequestSchema, ToolListChangedNotificationSchema } = await import(
  `${sdk}/types.js`
);

async function newTransport() {
  if (onStdio) {
    const { StdioClientTransport } = await import(`${sdk}/client/stdio.js`);
    return new StdioClientTransport(server);
  }
  const { StreamableHTTPClientTransport } = await import(`${sdk}/client/streamableHttp.js`);
  return new StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers } });
}

// Older versions have no type for it, and no capability.
const elicits = ElicitRequestSchema !== undefined;

const transport = await newTransport();
const client = new Client(clientInfo, { capabilities: elicits ? { elicitation: {} } : {} });
client.onerror = (error) => console.error(`onerror: ${error.message}`);

if (elicits) client.setRequestHandler(ElicitRequestSchema, () => answer);

const listChanged = news();
client.setNotificationHandler(ToolListChangedNotificationSchema, listChanged.tell);

const lacks = elicits ? {} : { elicitation: "this version of the SDK does not know elicitation" };

await walk({
  client: nameAndVersion(`${sdk}/client/index.js`),
  connect: async () => {
    await client.connect(transport);
    // Only the transport over HTTP of later versions reports the revision.
    return transport.protocolVersion ?? null;
  },
  list: async () => {
    const { tools } = await client.listTools();
    return tools.map(({ name }) => name);
  },
  call: (name, input, { signal, onProgress } = {}) =>
    client.callTool({ name, arguments: input }, CallToolResultSchema, {
      signal,
      onprogress: onProgress && (({ message }) => onProgress(message)),
    }),
  listChanged,
  lacks,
  leave: async () => {
    if (!onStdio) await transport.terminateSession();
    await client.close();
  },
  way: onStdio ? "client.close()" : "transport.terminateSession(), then client.close()",
});
