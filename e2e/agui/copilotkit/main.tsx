import { HttpAgent } from "@ag-ui/client";
import {
  CopilotChat,
  CopilotKitProvider,
  useDefaultRenderTool,
  useFrontendTool,
  useInterrupt,
} from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { mcpWeb } from "./notes";

const agent = new HttpAgent({
  url: "http://localhost:3003/agui",
  headers: { Authorization: `Bearer ${mcpWeb.authToken}` },
});

function Chat() {
  // Without it, the chat does not show the calls of the page's tools.
  useDefaultRenderTool();
  useFrontendTool({
    name: "paint_title",
    description: "Paints the title of the page",
    parameters: z.object({ colour: z.string() }),
    handler: async ({ colour }) => {
      document.querySelector<HTMLElement>("#title")!.style.color = colour;
      return `The title is ${colour}.`;
    },
  });
  useInterrupt({
    render: ({ interrupt, resolve }) => (
      <div id="approval">
        <span>{interrupt?.message} </span>
        <button id="allow" onClick={() => resolve({ approved: true })}>Allow</button>
        <button id="refuse" onClick={() => resolve({ approved: false })}>Refuse</button>
      </div>
    ),
  });
  return <CopilotChat />;
}

function App() {
  const [failure, setFailure] = useState("");
  return (
    <CopilotKitProvider
      selfManagedAgents={{ default: agent }}
      properties={{ approve: ["clear_notes"] }}
      enableInspector={false}
      onError={({ error }) => setFailure(error.message)}
    >
      <p role="alert">{failure}</p>
      <div data-mcp-person>
        <Chat />
      </div>
    </CopilotKitProvider>
  );
}

createRoot(document.querySelector("#root")!).render(<App />);
