import { useEffect, useState } from "react";

import { report } from "./state.js";

/** React state that is also written into `window.appState`, after each render with another value. */
export function useReportedState(key, initial) {
  const [value, setValue] = useState(initial);
  useEffect(() => report(key, value), [key, value]);
  return [value, setValue];
}
