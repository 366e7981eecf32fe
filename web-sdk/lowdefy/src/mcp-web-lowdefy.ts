#!/usr/bin/env -S node --max-semi-space-size=4
// The garbage of many short calls: with V8's own limit, its space for new objects alone takes 48 MB.
import { main } from "./command/main.ts";

process.exitCode = await main(process.argv.slice(2));
