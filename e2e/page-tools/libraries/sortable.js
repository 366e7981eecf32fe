import Sortable from "sortablejs";

import { report } from "./state.js";

// Lists that use the drag and drop of HTML, in a page that draws at once and in one that is slow, and one that uses the
// pointer only.
createList("sortable.html5", ["Sortable red", "Sortable green", "Sortable blue"], {});
createList("sortable.slow", ["Sortable spring", "Sortable summer", "Sortable winter"], { onChange: () => blockPage(60) });
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

function blockPage(ms) {
  const started = performance.now();
  while (performance.now() - started < ms) {
    // The page does nothing else.
  }
}
