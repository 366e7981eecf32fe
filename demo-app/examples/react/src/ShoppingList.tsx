import { type FormEvent, useEffect, useState } from "react";
import { useMcpWeb, usePrompt, useResource, useTool } from "mcp-web-sdk/react";
import { AskAi } from "./AskAi";
import { mcpWeb } from "./mcp-web";

interface Item {
  name: string;
  isBought: boolean;
}

export function ShoppingList() {
  const { status, clients } = useMcpWeb();
  const [items, setItems] = useState<Item[]>([{ name: "Milk", isBought: false }]);

  const add = (name: string) => setItems((items) => [...items, { name, isBought: false }]);
  const mark = (name: string, isBought: boolean) =>
    setItems((items) => items.map((item) => (item.name === name ? { ...item, isBought } : item)));

  useTool({
    name: "add_item",
    description: "Adds something to the shopping list",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", minLength: 1 } },
      required: ["name"],
    },
    handler({ name }) {
      if (items.some((item) => item.name === name)) throw new Error(`"${name}" is on the list already`);
      add(name);
      return `Added ${name}`;
    },
  });

  // A tool is offered while it is useful, and its description follows the content of the page.
  const open = items.filter((item) => !item.isBought);
  useTool(
    open.length === 0
      ? null
      : {
          name: "mark_bought",
          description: `Marks something as bought. Still to buy: ${open.map((item) => item.name).join(", ")}`,
          inputSchema: {
            type: "object",
            properties: { name: { enum: open.map((item) => item.name) } },
            required: ["name"],
          },
          handler({ name }) {
            mark(name, true);
            return `${open.length - 1} left`;
          },
        },
  );

  const list = useResource({
    uri: "shopping://list",
    name: "list",
    description: "All items of the shopping list",
    read: () => items,
  });
  useEffect(() => list.notifyUpdated(), [items, list]);

  usePrompt({
    name: "plan_dinner",
    description: "Plans a dinner with what is on the list",
    arguments: [{ name: "guests", description: "how many people", required: true }],
    get: ({ guests }) => `Plan a dinner for ${guests} with: ${items.map((item) => item.name).join(", ")}`,
  });

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const name = String(new FormData(form).get("name")).trim();
    if (name && !items.some((item) => item.name === name)) add(name);
    form.reset();
  };

  return (
    <>
      <h1>Shopping list</h1>
      <p className="status">
        {status.state}
        {clients.length > 0 && `, with ${clients.map((client) => client.title ?? client.name).join(", ")}`}
      </p>
      <ul>
        {items.map((item) => (
          <li key={item.name}>
            <label>
              <input
                type="checkbox"
                checked={item.isBought}
                onChange={(event) => mark(item.name, event.target.checked)}
              />
              {item.name}
            </label>
          </li>
        ))}
      </ul>
      <form onSubmit={submit}>
        <input name="name" placeholder="What else?" aria-label="What else?" />
        <button>Add</button>
      </form>
      <AskAi />
      <details>
        <summary>Connect an AI client</summary>
        <pre>{JSON.stringify(mcpWeb.remoteMcpConfig, null, 2)}</pre>
      </details>
    </>
  );
}
