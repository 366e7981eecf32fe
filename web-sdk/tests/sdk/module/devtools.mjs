/** The DevTools protocol of a browser, over a WebSocket, because a pipe would need another program. */

/** The addresses of browsers, which they print once. */
const addresses = new WeakMap();

/** Returns the address of a browser with `--remote-debugging-port=0`. */
function address(browser) {
  if (!addresses.has(browser)) addresses.set(browser, readAddress(browser));
  return addresses.get(browser);
}

async function readAddress(browser) {
  let text = "";
  for await (const part of browser.stderr) {
    text += part;
    const found = /DevTools listening on (ws:\S+)/.exec(text)?.[1];
    if (found) return new URL(found);
  }
  throw new Error(`the browser has no address for DevTools: ${text}`);
}

/** Connects to the page of a browser. Returns a function that calls a method. `onEvent` receives the events. */
export async function connect(browser, title, onEvent) {
  const { host } = await address(browser);
  let page;
  // A frame has its address as its title.
  const isWanted = (target) => /^(page|iframe)$/.test(target.type) && (target.title === title || target.url.endsWith(title));
  while (!page) page = (await (await fetch(`http://${host}/json/list`)).json()).find(isWanted);
  const socket = new WebSocket(page.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
  const pending = new Map();
  socket.onmessage = ({ data }) => {
    const { id, result, error, method, params } = JSON.parse(data);
    if (method) return onEvent?.(method, params);
    const call = pending.get(id);
    pending.delete(id);
    if (error) call?.reject(new Error(error.message));
    else call?.resolve(result);
  };
  let isClosed = false;
  socket.onclose = () => {
    isClosed = true;
    for (const { reject } of pending.values()) reject(new Error("the page is gone"));
  };
  let last = 0;
  return (method, params = {}) =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error("the page is gone"));
      pending.set(++last, { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });
}
