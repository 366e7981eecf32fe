"use client";

import { useState } from "react";
import { useMcpWeb, useTool } from "mcp-web-sdk/react";

export function Heading() {
  const { status, mcpWeb } = useMcpWeb();
  const [text, setText] = useState("Bulletin board");
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
      <pre>{status.state === "connected" && JSON.stringify(mcpWeb.remoteMcpConfig, null, 2)}</pre>
    </>
  );
}
