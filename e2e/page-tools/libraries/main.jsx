// All libraries on one page. Each control has a different role and name, and writes the state of its app
// into `window.appState`.
import "./state.js";
import "./native.js";
import "./sortable.js";
import "./editors.js";
import "./lit.js";
import "./vue.js";
import "./svelte.js";

import { createRoot } from "react-dom/client";

import { AntdControls } from "./antd.jsx";
import { DndKitLists } from "./dnd-kit.jsx";
import { HeadlessListbox } from "./headless.jsx";
import { MuiControls } from "./mui.jsx";
import { RadixControls } from "./radix.jsx";
import { ReactForms } from "./react-forms.jsx";
import { TeamSelect } from "./react-select.jsx";

const APPS = {
  react: <ReactForms />,
  radix: <RadixControls />,
  headless: <HeadlessListbox />,
  mui: <MuiControls />,
  antd: <AntdControls />,
  "react-select": <TeamSelect />,
  "dnd-kit": <DndKitLists />,
};

for (const [id, app] of Object.entries(APPS)) {
  createRoot(document.getElementById(id)).render(app);
}
