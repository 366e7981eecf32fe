import { Field, Label, Listbox, ListboxButton, ListboxOption, ListboxOptions } from "@headlessui/react";

import { useReportedState } from "./reported-state.js";

export function HeadlessListbox() {
  const [person, setPerson] = useReportedState("headless.person", "Ada");
  return (
    <Field>
      <Label>Headless person</Label>{" "}
      <Listbox value={person} onChange={setPerson}>
        <ListboxButton>{person}</ListboxButton>
        <ListboxOptions anchor="bottom" style={{ background: "#fff", border: "1px solid" }}>
          {["Ada", "Grace", "Linus"].map((name) => (
            <ListboxOption key={name} value={name}>Headless {name}</ListboxOption>
          ))}
        </ListboxOptions>
      </Listbox>
    </Field>
  );
}
