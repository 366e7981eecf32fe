// Tools: what a result can be.
import { redPixel, silence } from "./media.js";

export function addContentTools(mcpWeb, content) {
  return [
    mcpWeb.addTool({
      name: "test_simple_text",
      description: "Answers with a text",
      handler: () => "This is a simple text response for testing.",
    }),
    mcpWeb.addTool({
      name: "test_image_content",
      description: "Answers with a picture: a canvas",
      handler: () => redPixel(),
    }),
    mcpWeb.addTool({
      name: "test_audio_content",
      description: "Answers with a sound: a Blob",
      handler: () => silence(),
    }),
    mcpWeb.addTool({
      name: "test_embedded_resource",
      description: "Answers with an embedded resource",
      handler: () => ({
        content: [
          content.resource({
            uri: "test://embedded-resource",
            mimeType: "text/plain",
            text: "This is an embedded resource content.",
          }),
        ],
      }),
    }),
    mcpWeb.addTool({
      name: "test_multiple_content_types",
      description: "Answers with a text, a picture and an embedded resource",
      handler: () => ({
        content: [
          content.text("Multiple content types test:"),
          content.image(redPixel()),
          content.resource({
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: JSON.stringify({ test: "data", value: 123 }),
          }),
        ],
      }),
    }),
    mcpWeb.addTool({
      name: "test_error_handling",
      description: "Throws",
      handler: () => {
        throw new Error("This tool intentionally returns an error for testing");
      },
    }),
  ];
}
