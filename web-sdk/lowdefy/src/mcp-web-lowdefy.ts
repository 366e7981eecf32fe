#!/usr/bin/env -S node --max-semi-space-size=4
// Limits the garbage of many short calls: with V8's own limit, its space for new objects alone takes 48 MB.
import { main } from "./command/main.ts";

// Work of the app, such as a timer, must not keep a process alive that was asked to end.
process.exit(await main(process.argv.slice(2)));
