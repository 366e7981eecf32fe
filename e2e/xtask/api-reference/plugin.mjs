/** A plugin of TypeDoc that documents the entries of the package: a page for each, and an index. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Application, Converter } from "typedoc";
import { MarkdownPageEvent } from "typedoc-plugin-markdown";
import { entriesOf } from "./entries.mjs";
import { indexPage } from "./index-page.mjs";
import { adaptModel, groupByTopic } from "./model.mjs";
import { ApiTheme } from "./theme.mjs";

/** TypeDoc groups what a module exports by kind when this priority is over, and by category after it. */
const AFTER_GROUPS = -150;

/** Called by TypeDoc. Its option `basePath` is the folder with the sources and the `package.json` of the package. */
export function load(app) {
  let entries;
  app.on(Application.EVENT_BOOTSTRAP_END, () => {
    const sources = app.options.getValue("basePath");
    entries = entriesOf(JSON.parse(readFileSync(join(sources, "package.json"), "utf8")));
    const paths = entries.map(({ source }) => join(sources, source));
    app.options.setValue("entryPoints", paths);
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => adaptModel(context, entries));
  app.converter.on(Converter.EVENT_RESOLVE_END, groupByTopic, AFTER_GROUPS);
  app.renderer.defineTheme("api", ApiTheme);
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    if (page.model.isProject()) page.contents = indexPage(page.model, app.renderer.router);
  });
}
