/** Finds the npm packages of the SDK's sources, which are installed in another folder. */

import { createRequire, registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../../../target/tools/web-sdk-node/package.json", import.meta.url));

registerHooks({
  resolve(specifier, context, nextResolve) {
    const isPackage = /^[@a-z]/.test(specifier) && !specifier.includes(":");
    const isOfSources = /\/web-sdk\/js\//.test(context.parentURL ?? "");
    if (!isPackage || !isOfSources) return nextResolve(specifier, context);
    return { url: pathToFileURL(require.resolve(specifier)).href, shortCircuit: true };
  },
});
