import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { McpWebProvider } from "mcp-web-sdk/react";
import { ShoppingList } from "./ShoppingList";
import { mcpWeb } from "./mcp-web";
import "./index.css";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <McpWebProvider mcpWeb={mcpWeb}>
      <ShoppingList />
    </McpWebProvider>
  </StrictMode>,
);
