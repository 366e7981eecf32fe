// Serves the app in the browser, and the data that its requests use:
// `node server.mjs FOLDER [--name NAME] [--roles ROLE,ROLE] [--bridge URL --token TOKEN]`.
//
// FOLDER is what build-app.mjs and browser/bundle.mjs wrote. Prints one JSON line: `{ "url", "dataUrl" }`.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { openAppApi } from "./app-api.mjs";
import { SECRETS, startDataServer } from "./data-server.mjs";
import { listen, readJson, send, sendJson } from "./http.mjs";
import { isMain } from "./is-main.mjs";

const INDEX = fileURLToPath(new URL("browser/index.html", import.meta.url));

const MEDIA_TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The files of the page by their paths. Every other path is that of a page of the app. */
const FILES = { "/main.js": "site/main.js", "/main.css": "site/main.css", "/logo.svg": "public/logo.svg" };

/**
 * Starts both servers: `{ url, dataUrl, close() }`.
 *
 * `user` is `{ name, roles }`. `pageTools` is `{ bridge, token }`: where the page tools of the page connect to;
 * without it the page has none.
 */
export async function startServer(folder, { user, pageTools = null }) {
  const data = await startDataServer();
  const api = await openAppApi(folder, { user, secrets: { ...SECRETS, DATA_URL: data.url } });

  async function sendPageConfig(response, pageId) {
    const rootConfig = await api.rootConfig();
    const pageConfig = (await api.pageConfig(pageId || rootConfig.home.pageId)) ?? (await api.notFoundConfig());
    sendJson(response, 200, { rootConfig, pageConfig, session: api.session });
  }

  async function callRequest(request, response, pageId, requestId) {
    const { payload } = await readJson(request);
    try {
      sendJson(response, 200, await api.request(pageId, requestId, payload));
    } catch ({ name, message }) {
      sendJson(response, 500, { name, message });
    }
  }

  async function answer(request, response) {
    const { pathname } = new URL(request.url, "http://localhost");
    const [, area, kind, ...ids] = pathname.split("/").map(decodeURIComponent);
    if (area === "api" && kind === "request") {
      await callRequest(request, response, ...ids);
    } else if (area === "api" && kind === "page") {
      await sendPageConfig(response, ids[0]);
    } else if (pathname === "/api/pages") {
      sendJson(response, 200, await api.pages());
    } else if (pathname === "/enable-page-tools.js") {
      send(response, 200, MEDIA_TYPES[".js"], enableModule(pageTools));
    } else {
      const file = Object.hasOwn(FILES, pathname) ? join(folder, FILES[pathname]) : INDEX;
      send(response, 200, MEDIA_TYPES[extname(file)], await readFile(file));
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      console.error(error);
      sendJson(response, 500, { name: error.name, message: error.message });
    });
  });
  const page = await listen(server);
  const close = async () => {
    await Promise.all([page.close(), data.close()]);
  };
  return { url: page.url, dataUrl: data.url, close };
}

/** The module that gives the page its page tools, from the SDK that the bridge serves. */
function enableModule(pageTools) {
  if (pageTools === null) {
    return "";
  }
  const { bridge, token } = pageTools;
  const options = JSON.stringify({ name: "Orders", authToken: token, bridgeUrl: bridge });
  return `import { McpWeb } from "${bridge}/sdk/mcp-web.js";
import { enablePageTools } from "${bridge}/sdk/mcp-web-page.js";
await window.lowdefyApp.addPageTools(new McpWeb(${options}), enablePageTools);
`;
}

if (isMain(import.meta)) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      name: { type: "string", default: "Ada" },
      roles: { type: "string", default: "" },
      bridge: { type: "string" },
      token: { type: "string" },
    },
  });
  if (positionals.length !== 1) {
    throw new Error("give the folder of the built app: node server.mjs FOLDER [--roles admin] [--bridge URL --token TOKEN]");
  }
  const { bridge, token } = values;
  const { url, dataUrl } = await startServer(positionals[0], {
    user: { name: values.name, roles: values.roles.split(",").filter(Boolean) },
    pageTools: bridge ? { bridge, token } : null,
  });
  console.log(JSON.stringify({ url, dataUrl }));
}
