// States for clients: those of the list of cases, one that takes its time, and one that cannot be set.
import { McpWeb } from "mcp-web-sdk";
import { addStateTools, groupState, id, system } from "mcp-web-sdk/state";
import { caseNames } from "case-names";
import * as z from "zod";

const parameters = new URLSearchParams(location.search);
const mcpWeb = new McpWeb({ name: "States", bridgeUrl: parameters.get("bridge"), authToken: parameters.get("token") });

const names = caseNames({ z, id, system, groupState });
let cleanup = () => {};

/** Offers the state of a case, in place of the one before. */
window.offer = async ({ name, config, state }) => {
  cleanup();
  window.state = state;
  const options = new Function(...Object.keys(names), `return (${config})`)(...Object.values(names));
  const [getter, setters, remove] = addStateTools(mcpWeb, {
    name,
    description: "The state",
    get: () => window.state,
    set: (value) => void (window.state = value),
    ...options,
  });
  cleanup = remove;
  await Promise.all([getter, setters].flat().map(({ registered }) => registered));
};

window.numbers = [];
addStateTools(mcpWeb, {
  name: "numbers",
  description: "A list that takes its time",
  schema: z.array(z.number()),
  expand: true,
  get: async () => window.numbers,
  async set(value) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    window.numbers = value;
  },
});

window.locked = "before";
addStateTools(mcpWeb, {
  name: "locked",
  description: "A state that cannot be set",
  schema: z.string(),
  get: () => window.locked,
  set: async () => Promise.reject(new Error("the lock is closed")),
});

window.mcpWeb = mcpWeb;
