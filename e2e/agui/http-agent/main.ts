import { HttpAgent, type Interrupt, type ResumeEntry } from "@ag-ui/client";
import { mcpWeb } from "./notes";

const agent = new HttpAgent({
  url: "http://localhost:3003/agui",
  headers: { Authorization: `Bearer ${mcpWeb.authToken}` },
});

const tools = [
  {
    name: "paint_title",
    description: "Paints the title of the page",
    parameters: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
  },
];

function paintTitle({ colour }: { colour: string }) {
  element("#title").style.color = colour;
  return `The title is ${colour}.`;
}

async function run(resume?: ResumeEntry[]) {
  let pending: string[] = [];
  const forwardedProps = { approve: ["clear_notes"] };
  await agent.runAgent({ tools, forwardedProps, ...(resume && { resume }) }, {
    onTextMessageContentEvent: ({ event }) => show(event.delta),
    onToolCallStartEvent: ({ event }) => show(`[${event.toolCallName}] `),
    onRunErrorEvent: ({ event }) => show(`${event.code}: ${event.message}`),
    onRunFinishedEvent: (run) => {
      if (run.outcome === "success") pending = run.pendingToolCallIds;
    },
  });
  askForApproval(agent.pendingInterrupts);
  // The calls of the client's own tool: the next run brings their results.
  for (const toolCallId of pending) {
    const content = paintTitle(JSON.parse(argumentsOf(toolCallId)));
    agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId, content });
  }
  if (pending.length > 0) await run();
}

function argumentsOf(toolCallId: string) {
  const calls = agent.messages.flatMap((message) => (message.role === "assistant" && message.toolCalls) || []);
  return calls.find(({ id }) => id === toolCallId)!.function.arguments;
}

function askForApproval(interrupts: Interrupt[]) {
  element("#approval").hidden = interrupts.length === 0;
  element("#approval span").textContent = interrupts.map(({ message }) => message).join(" ");
  const answer = (approved: boolean) => () => {
    element("#approval").hidden = true;
    return run(interrupts.map(({ id }) => ({ interruptId: id, status: "resolved", payload: { approved } })));
  };
  element("#allow").onclick = answer(true);
  element("#refuse").onclick = answer(false);
}

element("#ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const prompt = document.querySelector<HTMLTextAreaElement>("[name=prompt]")!;
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: prompt.value });
  show(`\n> ${prompt.value}\n`);
  prompt.value = "";
  // A request that the agent refuses, with an HTTP status, rejects.
  await run().catch((error) => show(String(error)));
});
element("#stop").addEventListener("click", () => agent.abortRun());

function show(text: string) {
  element("#answer").append(text);
}

function element(selector: string) {
  return document.querySelector<HTMLElement>(selector)!;
}
