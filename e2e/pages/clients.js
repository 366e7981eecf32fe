// The page that real AI clients are driven against: a tool for each thing that a client can do.
// `?bridge=` is the bridge's URL, `?token=` the token; `window.app` shows what happened.
const parameters = new URLSearchParams(location.search);
const bridgeUrl = parameters.get("bridge");

const { McpWeb } = await import(`${bridgeUrl}/sdk/mcp-web.js`);

const mcpWeb = new McpWeb({
  name: "App for clients",
  description: "Notes, and a tool for each thing that a client can do",
  bridgeUrl,
  authToken: parameters.get("token"),
});

/** `notes` are the texts so far, `started` and `cancelled` count calls of `hang`. */
const app = { mcpWeb, notes: [], started: 0, cancelled: 0 };
window.app = app;

const noteSchema = {
  type: "object",
  properties: { text: { type: "string", minLength: 1, description: "The text of the note" } },
  required: ["text"],
};

const tools = [];
const add = (definition) => tools.push(mcpWeb.addTool(definition));

add({
  name: "add_note",
  description: "Adds a note to the list that the user sees, and answers with how many there are",
  inputSchema: noteSchema,
  outputSchema: { type: "object", properties: { notes: { type: "integer" } }, required: ["notes"] },
  handler: ({ text }) => {
    const item = document.createElement("li");
    item.textContent = text;
    document.querySelector("#notes").append(item);
    return { notes: app.notes.push(text) };
  },
});

/** A canvas of noise, which PNG cannot make smaller: about 3 bytes for each pixel. */
function noise(edge) {
  const image = new ImageData(edge, edge);
  // A linear congruential generator (Numerical Recipes): each run draws the same picture.
  let state = 1;
  for (let place = 0; place < image.data.length; place += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    image.data[place] = place % 4 === 3 ? 255 : state >>> 24;
  }
  return image;
}

add({
  name: "picture",
  description: "Answers with a picture in PNG whose edges have so many pixels (32 by default)",
  inputSchema: {
    type: "object",
    properties: { edge: { type: "integer", minimum: 1, maximum: 2000, description: "Pixels" } },
  },
  handler: ({ edge = 32 }) => noise(edge),
});

const LINE = "All work and no play makes Jack a dull boy. ";

add({
  name: "large",
  description: "Answers with a text of so many bytes: numbered lines, and `THE END` as its last words",
  inputSchema: {
    type: "object",
    properties: { bytes: { type: "integer", minimum: 100, description: "Bytes of the text" } },
    required: ["bytes"],
  },
  handler: ({ bytes }) => {
    const end = "\nTHE END";
    const lines = [];
    for (let length = 0, line = 1; length < bytes; line += 1) {
      lines.push(`${line}: ${LINE}`);
      length += lines.at(-1).length + 1;
    }
    return lines.join("\n").slice(0, bytes - end.length) + end;
  },
});

add({
  name: "add_tool",
  description: "Adds a tool with this name to the page; the tool answers with its own name",
  inputSchema: {
    type: "object",
    properties: { name: { type: "string", description: "Its name" } },
    required: ["name"],
  },
  handler: async ({ name }) => {
    const tool = mcpWeb.addTool({ name, description: "Answers with its name", handler: () => name });
    await tool.registered;
    return `added ${name}`;
  },
});

add({
  name: "count",
  description: "Counts to a number, with a report of progress for each step",
  inputSchema: {
    type: "object",
    properties: { to: { type: "integer", minimum: 1, maximum: 100, description: "The last number" } },
    required: ["to"],
  },
  handler: async ({ to }, ctx) => {
    for (let step = 1; step <= to; step += 1) {
      ctx.progress(step, to, `step ${step}`);
      // Each report is a separate task; the answer follows the last report in the same task.
      if (step < to) await new Promise((resolve) => setTimeout(resolve));
    }
    return `counted to ${to}`;
  },
});

/** Resolves when a call of `hang` was cancelled, with the reason; one promise at a time. */
let cancelled = Promise.withResolvers();

add({
  name: "hang",
  description: "Never answers; ends when the call is cancelled",
  inputSchema: { type: "object", properties: {} },
  handler: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      app.started += 1;
      signal.addEventListener("abort", () => {
        app.cancelled += 1;
        cancelled.resolve(String(signal.reason?.message ?? signal.reason));
        reject(signal.reason);
      });
    }),
});

add({
  name: "cancelled",
  description: "Answers as soon as a call of `hang` was cancelled",
  inputSchema: { type: "object", properties: {} },
  handler: async () => {
    const reason = await cancelled.promise;
    cancelled = Promise.withResolvers();
    return `cancelled: ${reason}`;
  },
});

add({
  name: "ask",
  description: "Asks the person for a name, in the client, and greets",
  inputSchema: { type: "object", properties: {} },
  handler: async (_input, ctx) => {
    const schema = {
      type: "object",
      properties: { name: { type: "string", title: "Your name" } },
      required: ["name"],
    };
    const { action, content } = await ctx.elicit({ message: "What is your name?", schema });
    return action === "accept" ? `Hello ${content.name}` : `no name: ${action}`;
  },
});

app.ready = Promise.all(tools.map((tool) => tool.registered)).then(() => true);
