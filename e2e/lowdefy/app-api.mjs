// Uses the output of the build as a Lowdefy server does, by `@lowdefy/api`.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { importPackage } from "./packages.mjs";

/**
 * The API of a built app for one user.
 *
 * `folder` is what `buildApp` wrote. `user` is `{ name, roles }`, or null for a user who has not signed in.
 * `secrets` are the values of `_secret` by name.
 */
export async function openAppApi(folder, { user, secrets }) {
  const { callRequest, createApiContext, getPageConfig, getRootConfig } = await importPackage("@lowdefy/api");
  const buildDirectory = join(folder, "build");
  const plugin = async (path) => (await import(pathToFileURL(join(buildDirectory, "plugins", path)).href)).default;
  const ignore = () => {};
  const session = user === null ? null : { user };
  const context = {
    buildDirectory,
    config: JSON.parse(await readFile(join(buildDirectory, "config.json"), "utf8")),
    connections: await plugin("connections.js"),
    operators: await plugin("operators/server.js"),
    fileCache: new Map(),
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    secrets,
    session,
  };
  // Adds `authorize`, `readConfigFile` and `user` to the context. `session` must be there already.
  createApiContext(context);

  const pageIds = (await readdir(join(buildDirectory, "pages"))).filter((pageId) => pageId !== "404").sort();

  /** The configuration of a page, or null if there is none that the user may see. */
  async function pageConfig(pageId) {
    // `getPageConfig` joins the id to a path, so that only ids of the app may reach it.
    return pageIds.includes(pageId) ? getPageConfig(context, { pageId }) : null;
  }

  return {
    session,
    pageConfig,

    /** The pages that the user may see, as `[{ pageId, title }]`. */
    async pages() {
      const configs = await Promise.all(pageIds.map(pageConfig));
      const visible = configs.filter((config) => config !== null);
      return visible.map(({ pageId, properties }) => ({ pageId, title: properties?.title ?? pageId }));
    },

    /** The page that Lowdefy shows instead of one that does not exist. */
    notFoundConfig: () => getPageConfig(context, { pageId: "404" }),

    /** `{ home, lowdefyGlobal, menus }`, with the links of the menus that the user may follow. */
    rootConfig: () => getRootConfig(context),

    /** Calls a request of a page: `{ id, success, type, response }`, or it throws. */
    async request(pageId, requestId, payload) {
      const config = await pageConfig(pageId);
      if (!config?.requests.some((request) => request.requestId === requestId)) {
        throw new Error(`Request "${requestId}" does not exist.`);
      }
      return callRequest(context, { blockId: null, pageId, payload, requestId });
    },
  };
}
