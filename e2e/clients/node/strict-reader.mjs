// Lists what a server offers with several versions of the TypeScript SDK over Streamable HTTP, and prints
// one line of JSON for each of them: the names that it read, or what its schemas rejected.
// Usage: node strict-reader.mjs CONFIG, where CONFIG also has `readers`: the names that versions of
// `@modelcontextprotocol/sdk` are installed under, and `client legacy` or `client modern` for
// `@modelcontextprotocol/client`.
import { clientInfo, config, headers, nameAndVersion } from "./shared.mjs";

/** Connects a version of the SDK 1.x, or the client of the SDK 2.x in one of its eras. */
async function connect(reader) {
  const [, era] = reader.match(/^client (legacy|modern)$/) ?? [];
  const modules = era
    ? ["@modelcontextprotocol/client"]
    : [`${reader}/client/index.js`, `${reader}/client/streamableHttp.js`];
  const { Client, StreamableHTTPClientTransport } = Object.assign(
    {},
    ...(await Promise.all(modules.map((module) => import(module)))),
  );
  const mode = era === "modern" ? { pin: "2026-07-28" } : "legacy";
  const client = new Client(clientInfo, { capabilities: {}, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers } }));
  const name = nameAndVersion(modules[0]);
  return { client, name: era ? `${name} ${era}` : name };
}

/** Describes an error: the paths that zod rejects, or only a message. */
function describe(error) {
  const rejected = error.issues ?? error.cause?.issues;
  if (!Array.isArray(rejected)) return { error: String(error.message ?? error) };
  return { rejected: rejected.map(({ path, message }) => ({ path, message })) };
}

/** The names of everything that a list has, page by page, or what is rejected on the page after them. */
async function read(key, field, list) {
  const names = [];
  let cursor;
  try {
    do {
      const page = await list(cursor === undefined ? undefined : { cursor });
      names.push(...page[key].map((item) => item[field]));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  } catch (error) {
    return { ...describe(error), after: names.length };
  }
  return { names };
}

for (const reader of config.readers) {
  const { client, name } = await connect(reader);
  const lists = {
    tools: ["name", (params) => client.listTools(params)],
    prompts: ["name", (params) => client.listPrompts(params)],
    resources: ["uri", (params) => client.listResources(params)],
    resourceTemplates: ["uriTemplate", (params) => client.listResourceTemplates(params)],
  };
  const results = {};
  for (const [key, [field, list]] of Object.entries(lists)) {
    results[key] = await read(key, field, list);
  }
  await client.close();
  process.stdout.write(`${JSON.stringify({ reader: name, read: results })}\n`);
}
// Older versions keep a stream open that is only closed with the process.
process.exit(0);
