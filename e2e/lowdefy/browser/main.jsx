// The app in the browser: what the Next.js server of Lowdefy does, without Next.js.
import Client from "@lowdefy/client";
import { createContext, useContext, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

import actions from "app-plugins/actions.js";
import blocks from "app-plugins/blocks.js";
import icons from "app-plugins/icons.js";
import operators from "app-plugins/operators/client.js";

import { addPageTools } from "./page-tools.js";
import { createRouter, hrefOf } from "./router.js";

const Router = createContext(null);
const types = { actions, blocks, icons, operators };

/** The object that the client fills in: contexts of the pages, inputs, global. */
const lowdefy = {};

window.lowdefyContexts = () => lowdefy.contexts;
window.lowdefyApp = {
  /** Gives the page its page tools, which need the SDK that /enable-page-tools.js imports. */
  addPageTools: (mcpWeb, enablePageTools) => addPageTools(mcpWeb, enablePageTools, lowdefy),
};

function Link({ children, href, onClick, replace, scroll, ...props }) {
  const router = useContext(Router);
  const follow = (event) => {
    onClick?.(event);
    if (!event.defaultPrevented && !event.metaKey && !event.ctrlKey) {
      event.preventDefault();
      router.push(href);
    }
  };
  return <a {...props} href={hrefOf(href)} onClick={follow}>{children}</a>;
}

/** Takes the title out of the elements that belong into the head of the document. */
function Head({ children }) {
  const title = children.props.children;
  useEffect(() => {
    document.title = title ?? "Orders";
  }, [title]);
  return null;
}

function App({ router }) {
  const [page, setPage] = useState(null);
  useEffect(() => router.onPage(setPage), [router]);
  if (page === null) {
    return null;
  }
  const { pageConfig, rootConfig, session } = page;
  const auth = { authConfig: { configured: true, providers: [] }, session, getSession: async () => session };
  return (
    <Router.Provider value={router}>
      <Client
        auth={auth}
        Components={{ Head, Link }}
        config={{ pageConfig, rootConfig }}
        lowdefy={lowdefy}
        router={router}
        stage="prod"
        types={types}
        window={window}
      />
    </Router.Provider>
  );
}

createRoot(document.querySelector("#root")).render(<App router={createRouter()} />);
