// The hook for state of React, with React and a client in memory.
import { act, cleanup, render } from "@testing-library/react";
import { McpWeb } from "mcp-web-sdk";
import { McpWebProvider } from "mcp-web-sdk/react";
import { useStateTools } from "mcp-web-sdk/state/react";
import { connectTestClient } from "mcp-web-sdk/testing";
import { StrictMode, useState } from "react";
import { expect, test } from "vitest";

const schema = { type: "array", items: { type: "string" } } as const;
let setOutside: (todos: string[]) => void;

function Todos() {
  const [todos, setTodos] = useState<string[]>([]);
  setOutside = setTodos;
  useStateTools({ name: "todos", description: "Things to do", schema, value: todos, set: setTodos, expand: true });
  return <p>{todos.join()}</p>;
}

test("a state of React is offered while its component is mounted, and loses no change", async () => {
  const mcpWeb = new McpWeb({ name: "react state" });
  const { container, unmount } = render(
    <StrictMode>
      <McpWebProvider mcpWeb={mcpWeb}>
        <Todos />
      </McpWebProvider>
    </StrictMode>,
  );
  const client = await connectTestClient(mcpWeb);
  expect((await client.listTools()).map(({ name }) => name)).toEqual(["get_todos", "add_todos", "set_todos", "delete_todos"]);

  // Calls that come before React has rendered the one before.
  await act(() => Promise.all(["a", "b", "c", "d"].map((value) => client.callTool("add_todos", { value }))));
  expect(container.textContent).toBe("a,b,c,d");

  const updated = Promise.withResolvers<void>();
  await client.subscribe("state://todos", updated.resolve);
  act(() => setOutside(["z"]));
  await updated.promise;
  expect((await client.callTool("get_todos")).content).toEqual([{ type: "text", text: '["z"]' }]);

  unmount();
  expect(await client.listTools()).toEqual([]);
  expect(await client.listResources()).toEqual([]);
  await client.close();
  cleanup();
});
