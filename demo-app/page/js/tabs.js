/** Tabs by the ARIA pattern: one tab stop, arrows select, each tab controls its panel. */

/**
 * @param {HTMLElement} tablist its `[role=tab]` children name their panels by `aria-controls`
 * @param {(tab: HTMLElement) => void} [chosen]
 * @returns {(tab: HTMLElement) => void} chooses a tab
 */
export function enableTabs(tablist, chosen = () => {}) {
  const tabs = [...tablist.querySelectorAll("[role=tab]")];

  const choose = (tab) => {
    for (const other of tabs) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
      panelOf(other).hidden = panelOf(other) !== panelOf(tab);
    }
    chosen(tab);
  };

  tablist.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });

  tablist.addEventListener("keydown", (event) => {
    const index = tabs.indexOf(event.target);
    const target = {
      ArrowLeft: tabs.at(index - 1),
      ArrowRight: tabs[(index + 1) % tabs.length],
      Home: tabs[0],
      End: tabs.at(-1),
    }[event.key];
    if (index < 0 || !target) return;
    event.preventDefault();
    choose(target);
    target.focus();
  });

  return choose;
}

/** All tabs may share one panel. In that case selecting one fills it. */
const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
