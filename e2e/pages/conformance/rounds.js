// Tools: what protocol 2026-07-28 calls input required results. In a handler they are just answers
// to wait for; the keys are those that the suite expects.

const nameSchema = {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
};

const okSchema = {
  type: "object",
  properties: { ok: { type: "boolean" } },
  required: ["ok"],
};

const colorSchema = {
  type: "object",
  properties: { color: { type: "string" } },
  required: ["color"],
};

export function addRoundTools(mcpWeb) {
  return [
    mcpWeb.addTool({
      name: "test_input_required_result_elicitation",
      description: "Asks the person for a name",
      handler: async (_input, ctx) => {
        const { content } = await ctx.elicit({
          key: "user_name",
          message: "What is your name?",
          schema: nameSchema,
        });
        return `Hello, ${content?.name ?? "stranger"}!`;
      },
    }),
    mcpWeb.addTool({
      name: "test_input_required_result_sampling",
      description: "Asks the client's model for a capital",
      handler: async (_input, ctx) => {
        const answer = await ctx.sample({
          key: "capital_question",
          prompt: "What is the capital of France?",
          maxTokens: 100,
        });
        return answer.content.text;
      },
    }),
    mcpWeb.addTool({
      name: "test_input_required_result_list_roots",
      description: "Asks the client for its roots",
      handler: async (_input, ctx) => {
        const roots = await ctx.listRoots({ key: "client_roots" });
        return `The client's roots: ${roots.map((root) => root.uri).join(", ")}`;
      },
    }),
    mcpWeb.addTool({
      name: "test_input_required_result_request_state",
      description: "Asks the person to confirm",
      handler: async (_input, ctx) => {
        const { action } = await ctx.elicit({
          key: "confirm",
          message: "Please confirm",
          schema: okSchema,
        });
        return `state-ok: ${action}`;
      },
    }),
    mcpWeb.addTool({
      name: "test_input_required_result_multiple_inputs",
      description: "Asks the person, the model and the client at once",
      handler: async (_input, ctx) => {
        const [name, greeting, roots] = await Promise.all([
          ctx.elicit({ key: "user_name", message: "What is your name?", schema: nameSchema }),
          ctx.sample({ key: "greeting", prompt: "Generate a greeting", maxTokens: 50 }),
          ctx.listRoots({ key: "client_roots" }),
        ]);
        return `${greeting.content.text} ${name.content?.name} (${roots.length} roots)`;
      },
    }),
    mcpWeb.addTool({
      name: "test_input_required_result_multi_round",
      description: "Asks the person twice, one after the other",
      handler: async (_input, ctx) => {
        const first = await ctx.elicit({
          key: "step1",
          message: "Step 1: What is your name?",
          schema: nameSchema,
        });
        const second = await ctx.elicit({
          key: "step2",
          message: "Step 2: What is your favorite color?",
          schema: colorSchema,
        });
        return `${first.content?.name} likes ${second.content?.color}`;
      },
    }),
    mcpWeb.addTool({
      name: "test_input_required_result_tampered_state",
      description: "Asks the person to confirm; its state must not be changed on the way",
      handler: async (_input, ctx) => {
        const { action } = await ctx.elicit({
          key: "confirm",
          message: "Please confirm",
          schema: okSchema,
        });
        return `Confirmed: ${action}`;
      },
    }),
    mcpWeb.addTool({
      name: "test_input_required_result_capabilities",
      description: "Asks the client only what it can do",
      handler: async (_input, ctx) => {
        const { elicitation, sampling } = ctx.client?.capabilities ?? {};
        const asked = [];
        if (elicitation) {
          asked.push(ctx.elicit({ key: "user_name", message: "Your name?", schema: nameSchema }));
        }
        if (sampling) {
          asked.push(ctx.sample({ key: "greeting", prompt: "Generate a greeting", maxTokens: 50 }));
        }
        return `Answers: ${(await Promise.all(asked)).length}`;
      },
    }),
  ];
}
