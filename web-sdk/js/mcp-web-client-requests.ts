/** The requests of a handler to the client of its call, or to the user of the page. Loaded at the first such request. */

import { type ClientResponse, OpenRequests } from "./client-requests/open-requests.ts";
import type { CallPort } from "./mcp-web/ports.ts";
import { randomHex } from "./mcp-web/random.ts";
import type { McpWebErrorConstructor } from "./mcp-web/error.ts";
import { isPlainObject } from "./mcp-web/type-guards.ts";
import type * as calls from "./types/calls.ts";

/** Number of random bytes in the id of an elicitation. */
const ID_BYTES = 16;

/** The default of `sample()`. */
const MAX_TOKENS = 1000;

type ElicitRequest = Partial<calls.ElicitForm | calls.ElicitUrl>;
type SampleParams = Omit<calls.SampleRequest, "messages" | "prompt"> & { messages: object[] };

/** The facts about a call. `input` is the arguments of a tool. */
interface AskingCall extends calls.CallFacts {
  kind?: string;
  name?: string;
  input?: unknown;
}

/** The requests of one call. */
export class ClientRequests {
  readonly #open: OpenRequests;
  readonly #call: AskingCall;
  readonly #port: CallPort;

  constructor(call: AskingCall, port: CallPort, McpWebError: McpWebErrorConstructor) {
    this.#call = call;
    this.#port = port;
    const send = (key: string, method: string, params: string) => {
      if (call.caller.via !== "webmcp") return port.connection().ask(call.callId, key, method, params);
      const [capability = ""] = method.split("/");
      const error = new McpWebError("ClientCapabilityMissing", `the call came from the browser (WebMCP): it has no ${capability}`);
      this.#open.onFailure(key, Object.assign(error, { data: { requiredCapabilities: { [capability]: {} } } }));
    };
    this.#open = new OpenRequests(send, McpWebError);
  }

  async elicit({ key, message, schema, url }: ElicitRequest): Promise<unknown> {
    if (typeof message !== "string" || !message) throw new TypeError("elicit(): message must be a non-empty string");
    if (url === undefined && !isPlainObject(schema)) {
      throw new TypeError("elicit() needs a schema ({ type: \"object\", properties: {…} }) or a url");
    }
    const href = url === undefined ? undefined : new URL(url).href;
    const mode = href === undefined ? "form" : "url";
    const params =
      href === undefined ? { message, requestedSchema: schema } : { mode, message, url: href, elicitationId: randomHex(ID_BYTES) };
    const { client, signal, kind, name, input } = this.#call;
    const origin = kind === "tool" ? { tool: name, arguments: input } : {};
    const elicitInPage = this.#port.elicitInPage();
    const ask = () => this.#open.request("elicit", key, "elicitation/create", params);
    const asker: string = client?.title ?? client?.name ?? "An AI client";
    const inPage = () =>
      this.#port.dialog({ message, ...(schema && { schema }), ...(href !== undefined && { url: href }), asker, ...origin }, signal);
    if (elicitInPage === "always") return inPage();
    if (elicitInPage !== "fallback") return ask();
    if (!canElicit(client?.capabilities.elicitation, mode)) return inPage();
    return ask().catch((error) => {
      if (error.code === "ClientCapabilityMissing") return inPage();
      throw error;
    });
  }

  sample({ key, messages, maxTokens = MAX_TOKENS, ...rest }: SampleParams): Promise<unknown> {
    return this.#open.request("sample", key, "sampling/createMessage", { messages, maxTokens, ...rest });
  }

  async listRoots({ key }: { key?: string }): Promise<calls.Root[]> {
    const result = await this.#open.request("roots", key, "roots/list", {});
    const { roots = [] } = result as { roots?: calls.Root[] };
    return roots;
  }

  onAnswer(key: string, response: ClientResponse): void {
    this.#open.onAnswer(key, response);
  }

  onFailure(key: string, error: unknown): void {
    this.#open.onFailure(key, error);
  }

  end(reason: unknown): void {
    this.#open.end(reason);
  }
}

/** Before modes existed, an empty object meant forms. */
function canElicit(capability: object | undefined, mode: string): boolean {
  if (!capability) return false;
  return mode in capability || (mode === "form" && !("url" in capability));
}
