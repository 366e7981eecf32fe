// A registry of npm on a free port, without a link to another one: it has only what is published here.
import { runServer } from "verdaccio";

const storage = process.argv[2];
const packages = { "**": { access: "$all", publish: "$anonymous", unpublish: "$anonymous" } };
const app = await runServer({
  storage,
  configPath: storage,
  self_path: storage,
  auth: {},
  uplinks: {},
  packages,
  max_body_size: "1gb",
  log: { type: "stdout", format: "json", level: "fatal" },
});
// The tests hold its stdin, so that it ends with them.
process.stdin.resume().on("end", () => process.exit());
app.listen(0, "127.0.0.1", () => console.log(`registry http://127.0.0.1:${app.address().port}/`));
