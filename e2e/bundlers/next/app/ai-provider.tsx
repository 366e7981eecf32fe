"use client";

import type { ReactNode } from "react";
import { McpWeb } from "mcp-web-sdk";
import { McpWebProvider } from "mcp-web-sdk/react";

const mcpWeb = new McpWeb({
  name: "Bulletin board",
  description: "A heading that everybody can change",
  // The default is http://localhost:3001.
  bridgeUrl: process.env.NEXT_PUBLIC_BRIDGE_URL,
});

export function AiProvider({ children }: { children: ReactNode }) {
  return <McpWebProvider mcpWeb={mcpWeb}>{children}</McpWebProvider>;
}
