#!/usr/bin/env -S node --max-semi-space-size=4
// The garbage of many short calls: with V8's own limit, its space for new objects alone takes 48 MB.
import { main } from "./command/main.ts";

// What the app has begun, such as a timer, keeps no process alive that was asked to end.
process.exit(await main(process.argv.slice(2)));
