/** Explains why a question was not answered, where this page has better advice than the SDK. */

const KEY = "Check the key that the demo was started with.";
const RESTART = "Start the demo again, then ask again.";

const TEXTS = new Map([
  ["ModelUnauthorized", `The model’s provider does not accept the key. ${KEY}`],
  ["ModelRequestRefused", "The model’s provider refuses the request. Check the name of the model that the demo was started with."],
  ["AgentNotConfigured", "Nobody answers questions here. Start the demo without --agent-url, or with the URL of an agent."],
  ["AgentUnavailable", `The agent does not answer. ${RESTART}`],
  ["BridgeUnavailable", `The agent cannot reach the tools of this page. ${RESTART}`],
  ["BridgeStopping", `The demo is being stopped. ${RESTART}`],
  ["ToolNotFound", "A tool that the question needs is switched off. Switch it on under “On offer”, then ask again."],
  ["Disconnected", "This page is not connected. Connect it at the top of the panel, then ask again."],
  ["InsufficientScope", "This page may not ask questions. Give its token the scope “query”."],
]);

/** @param {{ code?: string }} failure @returns {string | undefined} */
export const failureText = ({ code }) => TEXTS.get(code);
