// The data that the app's requests read and write, and a log of all that arrived.
import { createServer } from "node:http";

import { listen, readJson, sendJson } from "./http.mjs";

/** The values of `_secret` that the app's connection and requests send to the data server. */
export const SECRETS = {
  DATA_USER: "user-9f2c61d0a4",
  DATA_PASSWORD: "password-5b7e83c1f6",
  DATA_API_KEY: "key-c40d19ae72",
  DATA_TENANT: "tenant-71f8e2b95d",
  DATA_SIGNATURE: "signature-e6a3507c8b",
};

/** The name of a customer whose orders are refused. */
export const REFUSED_CUSTOMER = "Nobody";

const START = [
  { id: "A-1", customer: "Miller", quantity: 3, status: "delivered" },
  { id: "A-2", customer: "Schmidt", quantity: 12, status: "sent" },
  { id: "A-3", customer: "Dupont", quantity: 1, status: "open" },
];

/**
 * Starts the server on a free port: `{ url, close() }`.
 *
 * | request | answer |
 * |---|---|
 * | `GET /orders` | `{ orders }`, the rows of the table |
 * | `POST /orders` | saves an order: `{ id }`; 422 for the customer `Nobody` |
 * | `GET /order?id=A-4` | the order |
 * | `GET /report` | `{ total }` |
 * | `POST /inits` | counts the `onInit` of `{ page }` |
 * | `GET /inits` | the counts by page |
 * | `GET /log` | all requests but those for counts and log, in their order: `[{ method, path, secrets, body? }]` |
 * | `POST /reset` | the data as at the start |
 *
 * `secrets` in the log are the names of the right secrets that a request brought, and the log has no value of one.
 */
export async function startDataServer() {
  let orders;
  let inits;
  let log;
  function reset() {
    orders = structuredClone(START);
    inits = {};
    log = [];
  }
  reset();

  const saveOrder = ({ order }) => {
    if (order.customer === REFUSED_CUSTOMER) {
      return [422, { error: "this customer does not exist" }];
    }
    const id = `A-${orders.length + 1}`;
    orders.push({ id, customer: order.customer, quantity: order.quantity, status: "open" });
    return [201, { id }];
  };
  const countInit = ({ page }) => {
    inits[page] = (inits[page] ?? 0) + 1;
    return [200, { count: inits[page] }];
  };
  const findOrder = (id) => {
    const order = orders.find((candidate) => candidate.id === id);
    return order ? [200, order] : [404, { error: "there is no such order" }];
  };

  function answer(method, url, body) {
    switch (`${method} ${url.pathname}`) {
      case "GET /orders": return [200, { orders }];
      case "POST /orders": return saveOrder(body);
      case "GET /order": return findOrder(url.searchParams.get("id"));
      case "GET /report": return [200, { total: orders.length }];
      case "POST /inits": return countInit(body);
      case "GET /inits": return [200, inits];
      case "GET /log": return [200, log];
      case "POST /reset": reset(); return [200, {}];
      default: return [404, { error: "not found" }];
    }
  }

  const unlogged = new Set(["/inits", "/log", "/reset"]);
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const body = request.method === "POST" ? await readJson(request) : undefined;
    if (!unlogged.has(url.pathname)) {
      log.push(logEntry(request, url, body));
    }
    const [status, content] = answer(request.method, url, body);
    sendJson(response, status, content);
  });
  return listen(server);
}

function logEntry(request, url, body) {
  const sent = JSON.stringify([request.headers, basicCredentials(request.headers.authorization), body ?? null]);
  const entry = {
    method: request.method,
    path: url.pathname + url.search,
    secrets: Object.keys(SECRETS).filter((name) => sent.includes(SECRETS[name])),
  };
  if (body !== undefined) {
    entry.body = body.order ?? body;
  }
  return entry;
}

function basicCredentials(header = "") {
  const [, encoded = ""] = /^Basic (.*)$/.exec(header) ?? [];
  return Buffer.from(encoded, "base64").toString();
}
