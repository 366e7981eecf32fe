// Tools: asking the person or the model behind the client.

const described = (answer) =>
  `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;

const options = ["option1", "option2", "option3"];

const titled = (title) => [
  { const: "value1", title: `First ${title}` },
  { const: "value2", title: `Second ${title}` },
  { const: "value3", title: `Third ${title}` },
];

export function addAskingTools(mcpWeb) {
  return [
    mcpWeb.addTool({
      name: "test_sampling",
      description: "Asks the client's model",
      inputSchema: {
        type: "object",
        properties: { prompt: { type: "string", description: "What to ask the model" } },
        required: ["prompt"],
      },
      handler: async ({ prompt }, ctx) => {
        const answer = await ctx.sample({ prompt, maxTokens: 100 });
        return `LLM response: ${answer.content.text}`;
      },
    }),
    mcpWeb.addTool({
      name: "test_elicitation",
      description: "Asks the person for name and address",
      inputSchema: {
        type: "object",
        properties: { message: { type: "string", description: "What to say to the person" } },
        required: ["message"],
      },
      handler: async ({ message }, ctx) => {
        const { action, content } = await ctx.elicit({
          message,
          schema: {
            type: "object",
            properties: {
              username: { type: "string", description: "User's response" },
              email: { type: "string", description: "User's email address" },
            },
            required: ["username", "email"],
          },
        });
        return `User response: ${JSON.stringify({ action, content })}`;
      },
    }),
    mcpWeb.addTool({
      name: "test_elicitation_sep1034_defaults",
      description: "Asks with a default for each kind of field",
      handler: async (_input, ctx) =>
        described(
          await ctx.elicit({
            message: "Please review and update the form fields with defaults",
            schema: {
              type: "object",
              properties: {
                name: { type: "string", description: "User name", default: "John Doe" },
                age: { type: "integer", description: "User age", default: 30 },
                score: { type: "number", description: "User score", default: 95.5 },
                status: {
                  type: "string",
                  description: "User status",
                  enum: ["active", "inactive", "pending"],
                  default: "active",
                },
                verified: { type: "boolean", description: "Verification status", default: true },
              },
              required: [],
            },
          }),
        ),
    }),
    mcpWeb.addTool({
      name: "test_elicitation_sep1330_enums",
      description: "Asks with each kind of choice",
      handler: async (_input, ctx) =>
        described(
          await ctx.elicit({
            message: "Please select options from the enum fields",
            schema: {
              type: "object",
              properties: {
                untitledSingle: { type: "string", enum: options },
                titledSingle: { type: "string", oneOf: titled("Option") },
                legacyEnum: {
                  type: "string",
                  enum: ["opt1", "opt2", "opt3"],
                  enumNames: ["Option One", "Option Two", "Option Three"],
                },
                untitledMulti: { type: "array", items: { type: "string", enum: options } },
                titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
              },
              required: [],
            },
          }),
        ),
    }),
    mcpWeb.addTool({
      name: "test_missing_capability",
      description: "Asks the client's model, and lets the refusal through when it has none",
      handler: async (_input, ctx) => {
        const answer = await ctx.sample({ prompt: "Say hello", maxTokens: 10 });
        return answer.content.text;
      },
    }),
    mcpWeb.addTool({
      name: "test_streaming_elicitation",
      description: "Reports progress, then asks the person",
      handler: async (_input, ctx) => {
        ctx.progress(1, 2);
        const answer = await ctx.elicit({
          message: "Shall it go on?",
          schema: { type: "object", properties: { confirmed: { type: "boolean" } } },
        });
        ctx.progress(2, 2);
        return described(answer);
      },
    }),
  ];
}
