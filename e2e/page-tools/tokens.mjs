// Prints the number of tokens (o200k_base) of the text on standard input: `node tokens.mjs < TEXT`.
import { readFileSync } from "node:fs";

import { load } from "./packages.mjs";

console.log(load("js-tiktoken").getEncoding("o200k_base").encode(readFileSync(0, "utf8")).length);
