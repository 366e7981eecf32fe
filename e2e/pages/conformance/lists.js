// Tools: adding and removing while clients look on.

export function addListChangingTools(mcpWeb) {
  const flickering = (add) => {
    let handle;
    return async () => {
      if (handle) {
        await handle.remove();
        handle = undefined;
        return "Removed it";
      }
      handle = add();
      await handle.registered;
      return "Added it";
    };
  };
  return [
    mcpWeb.addTool({
      name: "test_trigger_tool_change",
      description: "Adds a tool, or removes it again",
      handler: flickering(() =>
        mcpWeb.addTool({
          name: "test_dynamic_tool",
          description: "Comes and goes",
          handler: () => "still here",
        }),
      ),
    }),
    mcpWeb.addTool({
      name: "test_trigger_prompt_change",
      description: "Adds a prompt, or removes it again",
      handler: flickering(() =>
        mcpWeb.addPrompt({
          name: "test_dynamic_prompt",
          description: "Comes and goes",
          get: () => "still here",
        }),
      ),
    }),
  ];
}
