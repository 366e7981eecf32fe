import { Checkbox, DatePicker, Input, Select } from "antd";
import dayjs from "dayjs";

import { useReportedState } from "./reported-state.js";

const COLOURS = ["red", "green", "blue"].map((value) => ({ value, label: `Antd ${value}` }));
/** The month that the picker shows first, so that its cells do not depend on today. */
const MARCH = dayjs("2026-03-01");

export function AntdControls() {
  const [colour, setColour] = useReportedState("antd.colour", "red");
  const [date, setDate] = useReportedState("antd.date", null);
  const [note, setNote] = useReportedState("antd.note", "");
  const [agreed, setAgreed] = useReportedState("antd.agreed", false);
  return (
    <p>
      <Select aria-label="Antd colour" style={{ width: 140 }} value={colour} onChange={setColour} options={COLOURS} />{" "}
      <DatePicker aria-label="Antd date" defaultPickerValue={MARCH} onChange={(_, text) => setDate(text)} />{" "}
      <Input.TextArea aria-label="Antd note" style={{ width: 200 }} value={note} onChange={(event) => setNote(event.target.value)} />{" "}
      <Checkbox checked={agreed} onChange={(event) => setAgreed(event.target.checked)}>Antd agreed</Checkbox>
    </p>
  );
}
