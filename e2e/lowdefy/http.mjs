/** Lets a server listen on a free port of this machine: `{ url, close() }`. */
export async function listen(server) {
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

export async function readJson(request) {
  const chunks = await Array.fromAsync(request);
  return JSON.parse(Buffer.concat(chunks).toString() || "{}");
}

export function send(response, status, type, content) {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(content);
}

export function sendJson(response, status, content) {
  send(response, status, "application/json", JSON.stringify(content));
}
