import Select from "react-select";

import { useReportedState } from "./reported-state.js";

const TEAMS = ["design", "sales", "support"].map((value) => ({ value, label: `Team ${value}` }));

export function TeamSelect() {
  const [team, setTeam] = useReportedState("react-select.team", null);
  const chosen = TEAMS.find(({ value }) => value === team) ?? null;
  return <Select aria-label="React select team" options={TEAMS} value={chosen} onChange={({ value }) => setTeam(value)} />;
}
