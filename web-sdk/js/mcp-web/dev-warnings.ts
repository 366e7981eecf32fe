/** While an app is developed, it is told what AI clients will make of it. */

import { inBrowser } from "./environment.js";

const onThisMachine = () => inBrowser && /^(localhost$|127\.|\[::1\])/.test(globalThis.location?.hostname);

/** Loads the module of advice and lets `say` use it; elsewhere than on this machine, nothing is loaded. */
export function advise(importAdvice, say) {
  if (onThisMachine()) importAdvice().then(say, () => {});
}

export function adviseOnDefinition(importAdvice, kind, json) {
  advise(importAdvice, ({ adviceOn }) => {
    for (const advice of adviceOn(kind, JSON.parse(json))) console.warn(`mcp-web: ${advice}`);
  });
}
