// Prompts, and completions of their arguments.
import { redPixel } from "./media.js";

const cities = ["paris", "park city", "test valley"];

export function addPrompts(mcpWeb, content) {
  return [
    mcpWeb.addPrompt({
      name: "test_simple_prompt",
      description: "A prompt without arguments",
      get: () => "This is a simple prompt for testing.",
    }),
    mcpWeb.addPrompt({
      name: "test_prompt_with_arguments",
      description: "A prompt with two arguments",
      arguments: [
        {
          name: "arg1",
          description: "First test argument",
          required: true,
          complete: (value) => cities.filter((city) => city.startsWith(value)),
        },
        { name: "arg2", description: "Second test argument", required: true },
      ],
      get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
    }),
    mcpWeb.addPrompt({
      name: "test_prompt_with_embedded_resource",
      description: "A prompt with an embedded resource",
      arguments: [
        { name: "resourceUri", description: "URI of the resource to embed", required: true },
      ],
      get: ({ resourceUri }) => [
        {
          role: "user",
          content: content.resource({
            uri: resourceUri,
            mimeType: "text/plain",
            text: "Embedded resource content for testing.",
          }),
        },
        "Please process the embedded resource above.",
      ],
    }),
    mcpWeb.addPrompt({
      name: "test_prompt_with_image",
      description: "A prompt with a picture",
      get: () => [
        { role: "user", content: content.image(redPixel()) },
        "Please analyze the image above.",
      ],
    }),
    mcpWeb.addPrompt({
      name: "test_input_required_result_prompt",
      description: "A prompt that asks the person first",
      get: async (_arguments, ctx) => {
        const { content: answer } = await ctx.elicit({
          key: "user_context",
          message: "What context should the prompt use?",
          schema: {
            type: "object",
            properties: { context: { type: "string" } },
            required: ["context"],
          },
        });
        return `Use this context: ${answer?.context}`;
      },
    }),
  ];
}
