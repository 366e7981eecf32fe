import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { McpWebProvider } from "mcp-web-sdk/react";
import { ShoppingList } from "./ShoppingList.tsx";
import { mcpWeb } from "./mcp-web.ts";
import "./style.css";

createRoot(document.getElementById("app")!).render(
  <StrictMode>
    <McpWebProvider mcpWeb={mcpWeb}>
      <ShoppingList />
    </McpWebProvider>
  </StrictMode>,
);
