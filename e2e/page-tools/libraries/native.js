import { report } from "./state.js";

const form = document.getElementById("native-form");

form.addEventListener("input", reportValue);
form.addEventListener("change", reportValue);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  report("native.sent", new FormData(form).get("text"));
});
form.addEventListener("reset", () => report("native.reset", true));

let count = 0;
form.elements.count.addEventListener("click", () => report("native.count", ++count));

document.querySelector("#native details").addEventListener("toggle", ({ target }) => report("native.details", target.open));

const editable = document.getElementById("native-editable");
editable.addEventListener("input", () => report("native.editable", editable.textContent));

async function reportValue({ target }) {
  report(`native.${target.name}`, await valueOf(target));
}

async function valueOf(control) {
  switch (control.type) {
    case "checkbox":
      return control.checked;
    case "select-multiple":
      return [...control.selectedOptions].map(({ value }) => value);
    case "file":
      return Promise.all([...control.files].map(async (file) => ({ name: file.name, type: file.type, text: await file.text() })));
    default:
      return control.value;
  }
}
