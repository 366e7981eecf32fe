/** Light or dark, if the person prefers another theme than the system's. */

import { byId } from "./dom.js";

const KEY = "mcp-web-demo.theme";

export function enableThemeSwitch() {
  const button = byId("theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  const show = () => button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");

  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    const isSystems = (theme === "dark") === systemDark.matches;
    if (isSystems) delete root.dataset.theme;
    else root.dataset.theme = theme;
    keep(isSystems ? undefined : theme);
    show();
  });
  systemDark.addEventListener("change", show);
  show();
}

function keep(theme) {
  try {
    if (theme) localStorage.setItem(KEY, theme);
    else localStorage.removeItem(KEY);
  } catch {
    // No storage: the choice lasts until the page is closed.
  }
}
