/** The interface of the wasm (`web-sdk/wasm/src`), as this module uses it. */

/** Facts about the page that its environment knows. The crate's `js_imports.rs` has the same names. */
export interface PageFacts {
  origin: string | undefined;
  userAgent: string | undefined;
  /** Returns the current visibility of the document; `undefined` for a worker and a process. */
  visibility(): { visible: boolean; focused: boolean; title: string } | undefined;
}

/** The functions of the environment that the wasm uses. The crate's `js_imports.rs` has the same names. */
export interface HostEnvironment {
  /** Throws if the address is rejected. */
  openSocket(url: string): WebSocket;
  listen(event: string, listener: (event: unknown) => void, isCapturing: boolean): void;
}

/** Facts about the page that the wasm sends to the bridge. The crate's `js_imports.rs` has the same names. */
export interface PageInfo extends PageFacts {
  bridgeUrl: string;
  socketUrl: string;
  sessionId: string;
  sessionName: string | undefined;
  renewable: boolean;
  app: string;
  documentId: string;
}

/** The result of a handler as JSON texts, or its failure. The crate's `handler.rs` parses it. */
export interface HandlerOutcome {
  result?: string | undefined;
  content?: string | undefined;
  structuredContent?: string | undefined;
  _meta?: string | undefined;
  message?: string;
  code?: unknown;
  data?: string | undefined;
}

/** The wasm's connection to a bridge. */
export interface CoreConnection {
  connect(): void;
  disconnect(): void;
  setSession(sessionId: string, socketUrl: string): void;
  /** `repeatable`: the call may safely be repeated. */
  add(key: number, kind: string, id: string, json: string, repeatable: boolean): void;
  remove(key: number): void;
  resourceUpdated(uri: string): void;
  /** The task that `scheduleTask` has scheduled. */
  taskEnded(): void;
  /** Returns whether the message was sent. */
  query(json: string): boolean;
  progress(callId: string, progress: string, total?: string, message?: string): void;
  log(callId: string, level: string, logger: string | undefined, data: string): void;
  /** Arms the hand-over of a call with a state, or disarms it without one. */
  handOver(callId: string, state: string, isArmed: boolean): void;
  ask(callId: string, key: string, method: string, params: string): void;
}

/** The JavaScript that wasm-bindgen generates. */
export interface CoreGlue {
  Connection: new (host: object, page: PageInfo) => CoreConnection;
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
}
