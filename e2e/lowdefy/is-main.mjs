import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Whether a module is the one that Node was started with. */
export function isMain({ url }) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url);
}
