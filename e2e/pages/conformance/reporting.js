// Tools: progress and log messages while they run.

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)); // sleep: the suites want tools that take their time

export function addReportingTools(mcpWeb) {
  return [
    mcpWeb.addTool({
      name: "test_tool_with_logging",
      description: "Logs three messages while it runs",
      handler: async (_input, ctx) => {
        ctx.log("info", "Tool execution started");
        await pause(50);
        ctx.log("info", "Tool processing data");
        await pause(50);
        ctx.log("info", "Tool execution completed");
        return "Logged three messages";
      },
    }),
    mcpWeb.addTool({
      name: "test_logging_tool",
      description: "Logs a message at every level",
      handler: (_input, ctx) => {
        for (const level of ["debug", "info", "warning", "error"]) {
          ctx.log(level, `A message at ${level}`, "conformance");
        }
        return "Logged a message at every level";
      },
    }),
    mcpWeb.addTool({
      name: "test_tool_with_progress",
      description: "Says three times how far it is",
      handler: async (_input, ctx) => {
        ctx.progress(0, 100);
        await pause(50);
        ctx.progress(50, 100);
        await pause(50);
        ctx.progress(100, 100, "Done");
        return "Reported progress";
      },
    }),
    mcpWeb.addTool({
      name: "test_reconnection",
      description: "Takes long enough for a client to lose its connection and come back",
      handler: async () => {
        // Longer than the bridge waits before it answers with a stream.
        await pause(2_500);
        return "Reconnection test completed";
      },
    }),
  ];
}
