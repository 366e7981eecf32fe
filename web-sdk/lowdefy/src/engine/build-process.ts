/** The program of a build process, which `build-runner.ts` starts. */

import { buildApp } from "./build.ts";
import type { BuildMessage } from "./build-runner.ts";

const send = (message: BuildMessage) => new Promise<void>((resolve) => process.send?.(message, () => resolve()));

const [config = "", output = ""] = process.argv.slice(2);
try {
  const result = await buildApp(config, output, (warning) => void send({ warning: String(warning) }));
  await send({ result });
} catch (error) {
  await send({ error: (error as Error).message });
}
process.disconnect?.();
