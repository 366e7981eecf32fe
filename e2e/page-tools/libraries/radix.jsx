import * as Menu from "@radix-ui/react-dropdown-menu";
import * as Select from "@radix-ui/react-select";

import { useReportedState } from "./reported-state.js";
import { report } from "./state.js";

export function RadixControls() {
  const [fruit, setFruit] = useReportedState("radix.fruit", "apple");
  const [grid, setGrid] = useReportedState("radix.grid", false);
  return (
    <p>
      <Menu.Root>
        <Menu.Trigger>Radix menu</Menu.Trigger>
        <Menu.Portal>
          <Menu.Content style={{ background: "#fff", border: "1px solid" }}>
            <Menu.Item onSelect={() => report("radix.menu", "rename")}>Radix rename</Menu.Item>
            <Menu.Item onSelect={() => report("radix.menu", "remove")}>Radix remove</Menu.Item>
            <Menu.Item disabled onSelect={() => report("radix.menu", "archive")}>Radix archive</Menu.Item>
            <Menu.CheckboxItem checked={grid} onCheckedChange={setGrid}>Radix grid</Menu.CheckboxItem>
          </Menu.Content>
        </Menu.Portal>
      </Menu.Root>{" "}
      <Select.Root value={fruit} onValueChange={setFruit}>
        <Select.Trigger aria-label="Radix fruit"><Select.Value /></Select.Trigger>
        <Select.Portal>
          <Select.Content style={{ background: "#fff", border: "1px solid" }}>
            <Select.Viewport>
              {["apple", "pear", "plum"].map((value) => (
                <Select.Item key={value} value={value}><Select.ItemText>Radix {value}</Select.ItemText></Select.Item>
              ))}
            </Select.Viewport>
          </Select.Content>
        </Select.Portal>
      </Select.Root>
    </p>
  );
}
