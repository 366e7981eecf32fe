/** The client of `TestBridge.connectTestClient`: that of MCP's TypeScript SDK, with the methods of a test client. */

import { BUILTIN_RESOURCES, BUILTIN_TOOLS } from "./builtin-items.ts";
import { ClientBase, type ListName, capabilitiesOf, completionParams, withIsError } from "./client-base.ts";
import { callListener, nextTask } from "./environment.ts";
import { McpError } from "./mcp-error.ts";
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

const LISTS: ListName[] = ["tools", "prompts", "resources"];

/** How long a call that requests the log waits for late messages. */
const LATE_LOG_MS = 100;

/** The code of MCP up to 2025-11-25; the package reports the code of later revisions. */
const RESOURCE_NOT_FOUND = -32002;

export class BridgeClient extends ClientBase implements TestClient {
  /** The exports of `@modelcontextprotocol/client`. */
  readonly #package: any;
  readonly #client: any;
  readonly #transport: any;
  readonly #logListeners = new Set<(entry: any) => void>();

  private constructor(clientPackage: any, client: any, transport: any) {
    super();
    this.#package = clientPackage;
    this.#client = client;
    this.#transport = transport;
    for (const list of LISTS) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => this.notifyListChanged(list));
    }
    const onUpdated = ({ params }: any) => this.notifyResourceUpdated(params.uri);
    client.setNotificationHandler("notifications/resources/updated", onUpdated);
    client.setNotificationHandler("notifications/message", ({ params }: any) => {
      for (const listener of [...this.#logListeners]) callListener(listener, params);
    });
  }

  static async connect(url: string, token: string, options: TestClientOptions): Promise<BridgeClient> {
    const { name = "test client", version = "1.0.0", elicit, sample, roots } = options;
    const clientPackage = await importClient();
    const { Client, StreamableHTTPClientTransport } = clientPackage;
    const client = new Client({ name, version }, { capabilities: capabilitiesOf(options) });
    if (elicit) client.setRequestHandler("elicitation/create", ({ params }: any) => elicit(params));
    if (sample) client.setRequestHandler("sampling/createMessage", ({ params }: any) => sample(params));
    if (roots) client.setRequestHandler("roots/list", async () => ({ roots: await roots() }));
    const headers = { authorization: `Bearer ${token}` };
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    const connected = new BridgeClient(clientPackage, client, transport);
    await client.connect(transport);
    return connected;
  }

  async listTools(): Promise<ListedTool[]> {
    const { tools } = await this.#request<any>((request) => this.#client.listTools({}, request));
    return tools.filter(({ name }: ListedTool) => !BUILTIN_TOOLS.includes(name));
  }

  async callTool<Structured = any>(
    name: string,
    args: object = {},
    options?: RequestOptions,
  ): Promise<CallToolResult<Structured>> {
    return withIsError(
      await this.#request<any>((request, meta) => this.#client.callTool({ name, arguments: args, ...meta }, request), options),
    );
  }

  async listResources(): Promise<ListedItem[]> {
    const { resources } = await this.#request<any>((request) => this.#client.listResources({}, request));
    return resources.filter(({ uri }: ListedItem) => !BUILTIN_RESOURCES.includes(uri!));
  }

  async listResourceTemplates(): Promise<ListedItem[]> {
    const result = await this.#request<any>((request) => this.#client.listResourceTemplates({}, request));
    return result.resourceTemplates;
  }

  readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult> {
    return this.#request((request, meta) => this.#client.readResource({ uri, ...meta }, request), options);
  }

  async listPrompts(): Promise<ListedItem[]> {
    return (await this.#request<any>((request) => this.#client.listPrompts({}, request))).prompts;
  }

  getPrompt(name: string, args: object = {}, options?: RequestOptions): Promise<GetPromptResult> {
    return this.#request((request, meta) => this.#client.getPrompt({ name, arguments: args, ...meta }, request), options);
  }

  async complete(
    reference: { prompt: string } | { uriTemplate: string },
    argument: { name: string; value: string },
    args?: object,
  ): Promise<CompleteResult> {
    const params = completionParams(reference, argument, args);
    const { completion } = await this.#request<any>((request) => this.#client.complete(params, request));
    return completion;
  }

  override async close(): Promise<void> {
    await this.#transport.terminateSession();
    await this.#client.close();
  }

  protected override subscribeAtServer(uri: string): Promise<unknown> {
    return this.#request((request) => this.#client.subscribeResource({ uri }, request));
  }

  protected override unsubscribeAtServer(uri: string): Promise<unknown> {
    return this.#request((request) => this.#client.unsubscribeResource({ uri }, request));
  }

  async #request<Result>(
    send: (request: object, meta: object) => Promise<Result>,
    options: RequestOptions = {},
  ): Promise<Result> {
    const { signal, session, onProgress, onLog, logLevel = "debug" } = options;
    const progress = onProgress && { onprogress: (entry: any) => callListener(onProgress, entry) };
    const meta = session !== undefined && { _meta: { "mcp-web/sessionId": session } };
    try {
      if (onLog) {
        this.#logListeners.add(onLog);
        await this.#client.setLoggingLevel(logLevel);
      }
      return await send({ ...(signal && { signal }), ...progress }, { ...meta });
    } catch (error) {
      throw signal?.aborted ? signal.reason : toMcpError(error, this.#package.ResourceNotFoundError);
    } finally {
      // The client delivers a notification after a result that was sent later.
      await nextTask();
      if (onLog) {
        // The log may arrive on another stream than the result.
        await new Promise((resolve) => setTimeout(resolve, LATE_LOG_MS));
        this.#logListeners.delete(onLog);
      }
    }
  }
}

/** Converts an error of the package to this module's. Others, such as network errors, stay unchanged. */
function toMcpError(error: any, ResourceNotFoundError: any): unknown {
  if (typeof error?.code !== "number") return error;
  const code = error instanceof ResourceNotFoundError ? RESOURCE_NOT_FOUND : error.code;
  return new McpError(code, error.message, error.data);
}

async function importClient(): Promise<any> {
  // An app that does not use this module does not need the package.
  const name = "@modelcontextprotocol/client";
  try {
    return await import(/* @vite-ignore */ name);
  } catch (cause) {
    throw new Error(`the test bridge needs a client: npm install --save-dev ${name}`, { cause });
  }
}
