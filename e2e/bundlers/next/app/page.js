"use client";

import { useState } from "react";
import { McpWeb } from "mcp-web-sdk";
import { McpWebProvider, useMcpWeb, useTool } from "mcp-web-sdk/react";

const mcpWeb = new McpWeb({
  name: "Bundled app",
  bridgeUrl: process.env.NEXT_PUBLIC_BRIDGE_URL,
  authToken: process.env.NEXT_PUBLIC_TOKEN,
});
if (typeof window === "object") window.mcpWeb = mcpWeb;

export default function Page() {
  return (
    <McpWebProvider mcpWeb={mcpWeb}>
      <Heading />
    </McpWebProvider>
  );
}

function Heading() {
  const { status } = useMcpWeb();
  const [text, setText] = useState("Bundled app");
  useTool({
    name: "set_heading",
    description: "Changes the heading of the page",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    handler({ text }) {
      setText(text);
      return { text };
    },
  });
  return (
    <>
      <h1>{text}</h1>
      <p>{status.state}</p>
    </>
  );
}
