import { HttpAgent } from "@ag-ui/client";
import {
  AssistantRuntimeProvider,
  AuiConfig,
  ComposerPrimitive,
  defineToolkit,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  Tools,
  type ToolCallMessagePartProps,
} from "@assistant-ui/react";
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { mcpWeb } from "./notes";

const agent = new HttpAgent({
  url: "http://localhost:3003/agui",
  headers: { Authorization: `Bearer ${mcpWeb.authToken}` },
});
agent.use((input, next) =>
  next.run({ ...input, forwardedProps: { ...input.forwardedProps, approve: ["clear_notes"] } }),
);

function ToolCall({ toolName, approval, respondToApproval }: ToolCallMessagePartProps) {
  if (!approval || approval.approved !== undefined) return <p>[{toolName}]</p>;
  return (
    <div id="approval">
      <span>Allow the call of {toolName}? </span>
      <button id="allow" onClick={() => respondToApproval({ approved: true })}>Allow</button>
      <button id="refuse" onClick={() => respondToApproval({ approved: false })}>Refuse</button>
    </div>
  );
}

const toolkit = defineToolkit({
  paint_title: {
    type: "frontend",
    description: "Paints the title of the page",
    parameters: z.object({ colour: z.string() }),
    execute: async ({ colour }: { colour: string }) => {
      document.querySelector<HTMLElement>("#title")!.style.color = colour;
      return `The title is ${colour}.`;
    },
    render: ToolCall,
  },
});
const config = AuiConfig({ tools: Tools({ toolkit }) });

function Message() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ tools: { Fallback: ToolCall } }} />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root>
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
    </MessagePrimitive.Root>
  );
}

function Chat() {
  const runtime = useAgUiRuntime({ agent });
  return (
    <AssistantRuntimeProvider runtime={runtime} config={config}>
      <ThreadPrimitive.Root data-mcp-person>
        <ThreadPrimitive.Viewport id="answer">
          <ThreadPrimitive.Messages>{() => <Message />}</ThreadPrimitive.Messages>
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input rows={2} placeholder="Ask" />
          <ComposerPrimitive.Send id="send">Send</ComposerPrimitive.Send>
          <ComposerPrimitive.Cancel id="stop">Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.querySelector("#root")!).render(<Chat />);
