// Tools: input schemas that must reach the client whole.

export function addSchemaTools(mcpWeb) {
  return [
    mcpWeb.addTool({
      name: "json_schema_2020_12_tool",
      description: "Tool with JSON Schema 2020-12 features",
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            $anchor: "addressDef",
            type: "object",
            properties: { street: { type: "string" }, city: { type: "string" } },
          },
        },
        properties: {
          name: { type: "string" },
          address: { $ref: "#/$defs/address" },
          contactMethod: { type: "string", enum: ["phone", "email"] },
          phone: { type: "string" },
          email: { type: "string" },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
      },
      handler: (input) => `Fits: ${JSON.stringify(input)}`,
    }),
    mcpWeb.addTool({
      name: "test_custom_header",
      description: "Takes an argument that HTTP clients repeat in the header Mcp-Param-Region",
      inputSchema: {
        type: "object",
        properties: {
          region: { type: "string", description: "Where to run", "x-mcp-header": "Region" },
          query: { type: "string", description: "What to run" },
        },
        required: ["region", "query"],
      },
      handler: ({ region, query }) => `${query} in ${region}`,
    }),
  ];
}
