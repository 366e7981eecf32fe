import { createServer } from "node:http";

const server = createServer(({ headers }, response) => {
  const isKnown = headers["x-api-key"] === "correct horse battery";
  response.writeHead(isKnown ? 200 : 401, { "Content-Type": "application/json" });
  response.end(JSON.stringify(isKnown ? { articles: [{ name: "bolt", pieces: 120 }] } : {}));
});
server.listen(4000, () => console.log(`stock at ${server.address().port}`));
