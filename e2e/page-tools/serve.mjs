// Serves a folder that `build.mjs` has written, as the test server does. As a program:
// `node serve.mjs FOLDER [PORT]`.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { once } from "node:events";
import { extname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".png": "image/png",
};

/** Starts the server and returns its `url`, without a slash at its end, and `close`. */
export async function serve(folder, port = 0) {
  const server = createServer((request, response) => answer(folder, request, response));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

async function answer(folder, request, response) {
  const { pathname } = new URL(request.url, "http://page");
  const pet = /^\/pets\/(\d+)$/.exec(pathname);
  if (request.method === "GET" && pet) {
    return sendPet(response, Number(pet[1]));
  }
  if (request.method === "GET" && pathname === "/never") {
    return; // A request without an answer: its page shows that no call waits for it for ever.
  }
  if (request.method === "POST" && pathname === "/posted") {
    return sendPosted(request, response);
  }
  const path = join(folder, normalize(pathname.endsWith("/") ? `${pathname}index.html` : pathname));
  // Without page tools their module is empty, and not a failed request in the page's console.
  const content = await readFile(path).catch(() => (pathname === "/enable-page-tools.js" ? "export {};" : undefined));
  response.statusCode = content ? 200 : 404;
  response.setHeader("content-type", TYPES[extname(path)] ?? "text/plain");
  response.end(content);
}

function sendPet(response, id) {
  response.statusCode = id === 7 ? 200 : 404;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(id === 7 ? { id, name: "Rex", status: "available" } : { error: `there is no pet ${id}` }));
}

async function sendPosted(request, response) {
  let body = "";
  for await (const part of request) {
    body += part;
  }
  const name = new URLSearchParams(body).get("name") ?? "";
  const text = name.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
  response.setHeader("content-type", TYPES[".html"]);
  response.end(`<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Posted</title></head>
  <body>
    <main><h1>Order received</h1><p>Thank you, ${text}</p></main>
    <script type="module" src="/enable-page-tools.js"></script>
  </body>
</html>
`);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , folder, port] = process.argv;
  const { url } = await serve(folder, Number(port ?? 0));
  console.log(url);
}
