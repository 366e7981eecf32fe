// A list of React that a test reorders: `showItems` renders it once more with these keys.
import { createElement } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";

const root = createRoot(document.querySelector("main"));

window.appState = { clicked: [] };
window.showItems = (keys) => {
  const item = (key) =>
    createElement("li", { key }, createElement("button", { onClick: () => window.appState.clicked.push(key) }, `Item ${key}`));
  flushSync(() => root.render(createElement("ul", null, keys.map(item))));
};
window.showItems([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
