/** The client of `connectTestClient`. */

import { ClientBase, type ListName, capabilitiesOf, completionParams, withIsError } from "./client-base.ts";
import { callListener, nextTask } from "./environment.ts";
import { McpError } from "./mcp-error.ts";
import type { ClientRequest, Server } from "./server.ts";
import type {
  CallToolResult,
  CompleteResult,
  GetPromptResult,
  ListedItem,
  ListedTool,
  ReadResourceResult,
  RequestOptions,
  TestClient,
  TestClientOptions,
} from "./types.ts";

export class InMemoryClient extends ClientBase implements TestClient {
  readonly #server: Server;
  readonly #options: TestClientOptions;
  readonly #client: number;
  /** Functions that reject the running requests. */
  readonly #running = new Set<(reason: unknown) => void>();
  #isClosed = false;

  constructor(server: Server, options: TestClientOptions) {
    super();
    const { name = "test client", version = "1.0.0" } = options;
    const listener = (method: string, params: any) => this.#onNotification(method, params);
    this.#server = server;
    this.#options = options;
    this.#client = server.connect(name, version, capabilitiesOf(options), listener);
  }

  /** Waits until the messages that the page has sent in this task have arrived. */
  async settle(): Promise<void> {
    // The page registers in a microtask, and is notified of the client in a task.
    await nextTask();
    await nextTask();
  }

  listTools(): Promise<ListedTool[]> {
    return this.#list("tools/list", "tools");
  }

  async callTool<Structured = any>(
    name: string,
    args: object = {},
    options?: RequestOptions,
  ): Promise<CallToolResult<Structured>> {
    return withIsError(await this.#request("tools/call", { name, arguments: args }, options));
  }

  listResources(): Promise<ListedItem[]> {
    return this.#list("resources/list", "resources");
  }

  listResourceTemplates(): Promise<ListedItem[]> {
    return this.#list("resources/templates/list", "resourceTemplates");
  }

  readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult> {
    return this.#request("resources/read", { uri }, options);
  }

  listPrompts(): Promise<ListedItem[]> {
    return this.#list("prompts/list", "prompts");
  }

  getPrompt(name: string, args: object = {}, options?: RequestOptions): Promise<GetPromptResult> {
    return this.#request("prompts/get", { name, arguments: args }, options);
  }

  async complete(
    reference: { prompt: string } | { uriTemplate: string },
    argument: { name: string; value: string },
    args?: object,
  ): Promise<CompleteResult> {
    const { completion } = await this.#request("completion/complete", completionParams(reference, argument, args));
    return completion;
  }

  override async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#server.disconnect(this.#client);
    for (const reject of [...this.#running]) reject(closedError());
    await nextTask();
  }

  protected override async subscribeAtServer(uri: string): Promise<void> {
    await this.#request("resources/subscribe", { uri });
    // The page is notified in a task.
    await nextTask();
  }

  protected override unsubscribeAtServer(uri: string): Promise<void> {
    return this.#request("resources/unsubscribe", { uri });
  }

  async #list(method: string, field: string): Promise<any[]> {
    return (await this.#request(method, {}))[field];
  }

  async #request(method: string, params: object, options: RequestOptions = {}): Promise<any> {
    if (this.#isClosed) throw closedError();
    await this.settle();
    if (this.#isClosed) throw closedError();
    const { signal, session, onProgress, onLog, logLevel = "debug" } = options;
    signal?.throwIfAborted();
    const meta = {
      ...(session !== undefined && { "mcp-web/sessionId": session }),
      ...(onProgress && { progressToken: 1 }),
      ...(onLog && { "io.modelcontextprotocol/logLevel": logLevel }),
    };
    return new Promise((resolve, reject) => {
      let onAbort: (() => void) | undefined;
      const fail = (reason: unknown) => {
        end();
        reject(reason);
      };
      const end = () => {
        this.#running.delete(fail);
        if (onAbort) signal?.removeEventListener("abort", onAbort);
      };
      this.#running.add(fail);
      const id = this.#server.request(this.#client, method, { ...params, _meta: meta }, {
        resolve: (result) => {
          end();
          resolve(result);
        },
        reject: ({ code, message, data }) => fail(new McpError(code, message, data)),
        onNotification: (method, { progressToken, ...params }) => {
          if (method === "notifications/progress") callListener(onProgress, params as any);
          else callListener(onLog, params as any);
        },
        onClientRequest: (request) => void this.#answer(request),
      });
      onAbort = () => {
        fail(signal!.reason);
        this.#server.cancel(id);
      };
      signal?.addEventListener("abort", onAbort);
    });
  }

  /** Answers a request of a handler. */
  async #answer(request: ClientRequest): Promise<void> {
    const { elicit, sample, roots } = this.#options;
    try {
      const result =
        request.method === "elicitation/create"
          ? await elicit?.(request.params)
          : request.method === "sampling/createMessage"
            ? await sample?.(request.params)
            : { roots: await roots?.() };
      this.#server.respond(request, result);
    } catch (error) {
      this.#server.respondError(request, error instanceof Error ? error.message : String(error));
    }
  }

  #onNotification(method: string, params: any): void {
    if (method === "notifications/resources/updated") this.notifyResourceUpdated(params.uri);
    else this.notifyListChanged(method.split("/")[1] as ListName);
  }
}

const closedError = () => new Error("the client is closed");
