// Starts the relay of `@mcp-b/webmcp-local-relay` on a free port, and prints when it has the page's tool, in
// milliseconds since 1970: it sends the page no answer.
import { RelayBridgeServer } from "@mcp-b/webmcp-local-relay";

const relay = new RelayBridgeServer({ port: 0 });
relay.on("stateChanged", () => {
  const time = performance.timeOrigin + performance.now();
  if (relay.registry.listTools().some(({ name }) => name.includes("add_note"))) console.log(`registered at ${time}`);
});
await relay.start();
console.log(`listening on port ${relay.port}`);
