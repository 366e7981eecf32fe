/** A worker that sends a query, and is asked to approve a call. It posts the warnings of the console. */

import { asking, progress, say } from "./asking.js";

const { bridge, query } = await asking({ prompt: "?", approvalDialog: true });
console.warn = (text) => postMessage(text);
say(bridge, query, "accepted");
progress(bridge, query, { type: "approval-requested", id: "1", tool: "clear", arguments: {}, expiresInMs: 60_000 });
