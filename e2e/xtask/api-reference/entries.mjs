/** The modules that an app imports. */

/**
 * Returns the entries of a package by its `exports`: the name to import, the name that TypeDoc gives the module, and its
 * source. The entry `/inline` is generated from the main module and has no source, and the wasm is not a module.
 */
export function entriesOf({ name, exports }) {
  return Object.entries(exports)
    .filter(([path, { types }]) => types && path !== "./inline" && !path.endsWith(".wasm"))
    .map(([path, { types }]) => {
      const file = types.replace(/^\.\//, "").replace(/\.d\.ts$/, "");
      return { name: name + path.slice(1), module: file.replace(/\/index$/, ""), source: `${file}.ts` };
    });
}
