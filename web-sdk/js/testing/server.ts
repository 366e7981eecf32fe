/** A bridge in memory: it delivers the events of the wasm to the sockets of pages and to clients. */

import { now, runInTask, runLater } from "./environment.ts";
import { type WasmServer, loadWasm } from "./wasm.ts";

/** The events of the wasm: the crate's `event.rs`. */
type Event =
  | { type: "frame"; connection: number; text: string }
  | { type: "closed"; connection: number; code: number }
  | { type: "result"; id: number; result: any }
  | { type: "error"; id: number; error: RequestFailure }
  | { type: "notification"; client?: number; id?: number; method: string; params: any }
  | ClientRequest;

/** The error of a request. */
export interface RequestFailure {
  code: number;
  message: string;
  data?: unknown;
}

/** A request of a handler to the client of its call. */
export interface ClientRequest {
  type: "clientRequest";
  /** The request of the client that runs the handler. */
  id: number;
  key: string;
  method: string;
  params: any;
}

/** A request of a client that waits. */
export interface OpenRequest {
  resolve(result: any): void;
  reject(error: RequestFailure): void;
  onNotification(method: string, params: any): void;
  onClientRequest(request: ClientRequest): void;
}

/** The socket of a page, as its bridge uses it. */
export interface ServerSocket {
  readonly connection: number;
  readonly session: string;
  /** Receives a frame of the bridge. */
  receive(text: string): void;
  /** Handles that the bridge has closed the connection, after its frames. */
  closeByServer(code: number): void;
}

/** Receives the messages to a client that belong to no request. */
type NotificationListener = (method: string, params: any) => void;

/** The bridge of one token. */
export class Server {
  readonly #wasm: WasmServer;
  readonly #start = now();
  readonly #sockets = new Map<number, ServerSocket>();
  readonly #requests = new Map<number, OpenRequest>();
  readonly #clients = new Map<number, NotificationListener>();
  #requestCount = 0;
  #cancelTimer: (() => void) | undefined;

  private constructor(wasm: WasmServer) {
    this.#wasm = wasm;
  }

  static async create(): Promise<Server> {
    const { TestServer } = await loadWasm();
    return new Server(new TestServer(Date.now()));
  }

  /** Accepts a connection of a page. */
  accept(socket: ServerSocket): void {
    this.#sockets.set(socket.connection, socket);
    this.#wasm.connectionOpened(socket.connection, socket.session);
  }

  /** Returns whether a session has a connection. */
  hasSession(session: string | undefined): boolean {
    return [...this.#sockets.values()].some((socket) => socket.session === session);
  }

  onFrame(connection: number, frame: string): void {
    if (this.#sockets.has(connection)) this.#deliver(this.#wasm.frameArrived(connection, frame, this.#time()));
  }

  onClose(connection: number, code: number): void {
    if (this.#sockets.delete(connection)) this.#deliver(this.#wasm.connectionClosed(connection, code, this.#time()));
  }

  /** Connects a client, and returns its number. */
  connect(name: string, version: string, capabilities: object, listener: NotificationListener): number {
    const client = this.#wasm.clientConnected(name, version, JSON.stringify(capabilities));
    if (!client) throw new Error("too many test clients are connected: close() those that are not needed any more");
    this.#clients.set(client, listener);
    this.#deliver(this.#wasm.takeEvents());
    return client;
  }

  disconnect(client: number): void {
    this.#clients.delete(client);
    this.#deliver(this.#wasm.clientDisconnected(client, this.#time()));
  }

  /** Sends a request of a client, and returns its number. */
  request(client: number, method: string, params: object, request: OpenRequest): number {
    const id = ++this.#requestCount;
    this.#requests.set(id, request);
    this.#deliver(this.#wasm.request(client, id, method, JSON.stringify(params), this.#time()));
    return id;
  }

  cancel(id: number): void {
    this.#deliver(this.#wasm.cancel(id, this.#time()));
  }

  /** Sends the answer of a client to a request of a handler. */
  respond({ id, key }: ClientRequest, result: unknown): void {
    this.#deliver(this.#wasm.respond(id, key, JSON.stringify(result ?? {}), "", this.#time()));
  }

  /** Reports that a client failed to answer. */
  respondError({ id, key }: ClientRequest, message: string): void {
    this.#deliver(this.#wasm.respond(id, key, undefined, message, this.#time()));
  }

  #time(): number {
    return now() - this.#start;
  }

  #deliver(json: string): void {
    for (const event of JSON.parse(json) as Event[]) this.#onEvent(event);
    this.#setTimer();
  }

  #onEvent(event: Event): void {
    switch (event.type) {
      case "frame":
        this.#sockets.get(event.connection)?.receive(event.text);
        break;
      case "closed":
        this.#sockets.get(event.connection)?.closeByServer(event.code);
        this.#sockets.delete(event.connection);
        break;
      case "result":
        this.#end(event.id)?.resolve(event.result);
        break;
      case "error":
        this.#end(event.id)?.reject(event.error);
        break;
      case "notification":
        if (event.id !== undefined) this.#requests.get(event.id)?.onNotification(event.method, event.params);
        else this.#notify(event.client, event.method, event.params);
        break;
      case "clientRequest":
        this.#requests.get(event.id)?.onClientRequest(event);
    }
  }

  #end(id: number): OpenRequest | undefined {
    const request = this.#requests.get(id);
    this.#requests.delete(id);
    return request;
  }

  #notify(client: number | undefined, method: string, params: any): void {
    const listeners = client === undefined ? [...this.#clients.values()] : [this.#clients.get(client)];
    for (const listener of listeners) if (listener) runInTask(() => listener(method, params));
  }

  #setTimer(): void {
    this.#cancelTimer?.();
    const deadline = this.#wasm.nextDeadline();
    if (deadline === undefined) return;
    const onDeadline = () => this.#deliver(this.#wasm.deadlinePassed(this.#time()));
    this.#cancelTimer = runLater(onDeadline, Math.max(0, deadline - this.#time()) + 1);
  }
}
