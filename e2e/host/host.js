// A web page that hosts MCP Apps as SEP-1865 (revision 2026-01-26) specifies, with the libraries made for it.
// Parameters: mcp (URL of the endpoint), token, sandbox (URL of the sandbox proxy, another origin),
// version (of MCP: 2026-07-28, or whatever `initialize` comes to).
// `window.host` shows what happened.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  AppBridge,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
  buildAllowAttribute,
  getToolUiResourceUri,
} from "@modelcontextprotocol/ext-apps/app-bridge";

const parameters = new URLSearchParams(location.search);
const info = { name: "host-page", title: "A host of MCP Apps", version: "0.1.0" };
const byId = (id) => document.getElementById(id);

const client = new Client(info, {
  versionNegotiation: { mode: parameters.get("version") === "2026-07-28" ? { pin: "2026-07-28" } : "legacy" },
  capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } } },
});

const host = {
  /** Tools with a view: `{ name, uri }`. */
  apps: [],
  /** The `ui://` resources that are listed: `{ uri, mimeType }`. */
  views: [],
  /** The result of `resources/read` for the open view. */
  resource: undefined,
  /** Results that the view was shown, and tool calls that it asked for. */
  shown: [],
  asked: [],
  open,
  callAgain,
};
window.host = host;

await client.connect(
  new StreamableHTTPClientTransport(new URL(parameters.get("mcp")), {
    requestInit: { headers: { Authorization: `Bearer ${parameters.get("token")}` } },
  }),
);
const { tools } = await client.listTools();
host.apps = tools
  .map((tool) => ({ name: tool.name, uri: getToolUiResourceUri(tool) }))
  .filter(({ uri }) => uri);
const { resources } = await client.listResources();
host.views = resources
  .filter(({ uri }) => uri.startsWith("ui://"))
  .map(({ uri, mimeType }) => ({ uri, mimeType }));
byId("server").textContent = `${client.getServerVersion().name}: ${tools.length} tools, ${host.apps.length} with a view`;
host.ready = true;

let bridge;
let opened;

/** Calls a tool and shows its result in its view. */
async function open(name, question) {
  opened = tools.find((tool) => tool.name === name);
  const uri = getToolUiResourceUri(opened);
  const content = await view(uri);
  host.resource = content;
  const { csp, permissions, prefersBorder } = content._meta?.ui ?? {};
  describe(name, uri, question, prefersBorder);
  const frame = await sandbox(csp, permissions);
  bridge = bridgeTo(frame);
  const initialized = new Promise((resolve) => bridge.addEventListener("initialized", resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  // Connecting has set a handler that only passes calls on.
  bridge.oncalltool = (call) => {
    host.asked.push(call);
    return client.callTool(call);
  };
  await bridge.sendSandboxResourceReady({ html: content.text, csp, permissions });
  await initialized;
  await bridge.sendToolInput({ arguments: {} });
  await callAgain();
}

/** Calls the tool again, as a model would later in the conversation, and shows the view its result. */
async function callAgain() {
  const result = await client.callTool({ name: opened.name, arguments: {} });
  await bridge.sendToolResult(result);
  host.shown.push(result);
}

async function view(uri) {
  const { contents } = await client.readResource({ uri });
  const [content] = contents;
  if (content.mimeType !== RESOURCE_MIME_TYPE) throw new Error(`not a view: ${content.mimeType}`);
  return content;
}

/** The sandbox proxy, once it is ready. Its server makes the policy of the declared domains. */
async function sandbox(csp, permissions) {
  const url = new URL(parameters.get("sandbox"));
  if (csp) url.searchParams.set("csp", JSON.stringify(csp));
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
  frame.setAttribute("allow", buildAllowAttribute(permissions));
  frame.title = "View";
  const ready = new Promise((resolve) => {
    addEventListener("message", function listen({ source, data }) {
      if (source !== frame.contentWindow || data?.method !== "ui/notifications/sandbox-proxy-ready") return;
      removeEventListener("message", listen);
      byId("policy").textContent = data.params.policy;
      resolve();
    });
  });
  frame.src = url.href;
  byId("frame").replaceChildren(frame);
  await ready;
  return frame;
}

function bridgeTo(frame) {
  const { tools: serverTools, resources: serverResources } = client.getServerCapabilities();
  const made = new AppBridge(client, info, { serverTools, serverResources, openLinks: {} }, {
    hostContext: { theme: "light", displayMode: "inline", availableDisplayModes: ["inline"] },
  });
  made.onsizechange = ({ height }) => {
    if (height) frame.style.height = `${height}px`;
  };
  return made;
}

function describe(name, uri, question, prefersBorder) {
  byId("question").textContent = question;
  byId("tool").textContent = name;
  byId("resource").textContent = uri;
  byId("frame").classList.toggle("has-border", prefersBorder === true);
  for (const id of ["question", "answer"]) byId(id).hidden = false;
}
