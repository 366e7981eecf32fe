import { useForm } from "react-hook-form";

import { useReportedState } from "./reported-state.js";
import { report } from "./state.js";

export function ReactForms() {
  return (
    <>
      <ControlledForm />
      <HookForm />
    </>
  );
}

function ControlledForm() {
  const [name, setName] = useReportedState("react.name", "");
  const [digits, setDigits] = useReportedState("react.digits", "");
  const [note, setNote] = useReportedState("react.note", "");
  const [size, setSize] = useReportedState("react.size", "small");
  const [agreed, setAgreed] = useReportedState("react.agreed", false);
  const [plan, setPlan] = useReportedState("react.plan", "free");
  const [count, setCount] = useReportedState("react.count", 0);
  return (
    <p>
      <label>React name <input value={name} onChange={(event) => setName(event.target.value)} /></label>
      <label>React digits <input value={digits} onChange={(event) => setDigits(event.target.value.replace(/\D/g, ""))} /></label>
      <label>React note <textarea value={note} onChange={(event) => setNote(event.target.value)} /></label>
      <label>React size <select value={size} onChange={(event) => setSize(event.target.value)}>
        <option value="small">Small parcel</option>
        <option value="large">Large parcel</option>
      </select></label>
      <label><input type="checkbox" checked={agreed} onChange={(event) => setAgreed(event.target.checked)} /> React agreed</label>
      {["free", "paid"].map((value) => (
        <label key={value}>
          <input type="radio" name="plan" checked={plan === value} onChange={() => setPlan(value)} /> React {value}
        </label>
      ))}
      <button onClick={() => setCount((count) => count + 1)}>React count</button>
    </p>
  );
}

function HookForm() {
  const { register, handleSubmit, formState: { errors } } = useForm();
  const message = (name) => errors[name] && <span role="alert" id={`hook-${name}`}>{errors[name].message}</span>;
  const field = (name, options) => ({
    ...register(name, options),
    "aria-invalid": Boolean(errors[name]),
    "aria-errormessage": errors[name] && `hook-${name}`,
  });
  return (
    <form noValidate onSubmit={handleSubmit((values) => report("hook.sent", values), (errors) => report("hook.errors", Object.keys(errors)))}>
      <label>Hook email <input {...field("email", { required: "The email is required" })} /></label> {message("email")}
      <label>Hook quantity <input type="number" {...field("quantity", { valueAsNumber: true, min: { value: 1, message: "At least 1" } })} /></label> {message("quantity")}
      <label><input type="checkbox" {...field("terms")} /> Hook terms</label>
      <button>Hook send</button>
    </form>
  );
}
