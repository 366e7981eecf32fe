import Sortable from "sortablejs";

import { report } from "./state.js";

// One list that uses the drag and drop of HTML, and one that uses the pointer only.
createList("sortable.html5", ["Sortable red", "Sortable green", "Sortable blue"], {});
createList("sortable.pointer", ["Sortable north", "Sortable east", "Sortable south"], { forceFallback: true });

function createList(key, names, options) {
  const list = document.createElement("ul");
  list.className = "list";
  list.append(...names.map(createItem));
  document.getElementById("sortable").append(list);
  const reportOrder = () => report(key, [...list.children].map((item) => item.textContent));
  Sortable.create(list, { ...options, onEnd: reportOrder });
  reportOrder();
}

function createItem(name) {
  const item = document.createElement("li");
  item.tabIndex = 0;
  item.setAttribute("aria-label", name);
  item.textContent = name;
  return item;
}
