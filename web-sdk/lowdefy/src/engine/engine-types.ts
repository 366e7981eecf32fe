/** The types of the parts of Lowdefy's engine that this host uses. */

/** A block of a page, as the engine stores it. */
export interface Block {
  /** Unique among the current blocks, including the indices of lists. */
  blockId: string;
  id: string;
  type: string;
  meta: BlockMeta;
  value?: unknown;
  /** The evaluated block; absent before the first update. */
  eval?: {
    properties?: Record<string, unknown> | null;
    required?: unknown;
    validation?: { status: string | null; errors?: string[]; warnings?: string[] };
    visible?: unknown;
    loading?: unknown;
  };
  /** The state that the engine compares to detect whether a block has changed. */
  before?: string;
  methods: Record<string, (...args: unknown[]) => unknown>;
  Events: { events: Record<string, { loading: boolean }> };
  visibleEval: { output?: unknown };
  showValidation?: boolean;
  /** Whether its evaluation is adopted with the next update. */
  update?: boolean;
  /** The number of items of a list, set by this host. */
  itemCount?(): number;
  setValue?(value: unknown): void;
  pushItem?(): void;
  unshiftItem?(): void;
  removeItem?(index: number): void;
  moveItemUp?(index: number): void;
  moveItemDown?(index: number): void;
  triggerEvent(event: { name: string; event?: object }): Promise<EventResult>;
  registerMethod(name: string, method: (...args: never[]) => unknown): void;
}

/** The metadata of a type of blocks. */
export interface BlockMeta {
  category: "container" | "display" | "input" | "list";
  valueType?: string;
  initValue?: unknown;
}

/** The outcome of an event, which never throws. */
export interface EventResult {
  success: boolean;
  /** Whether the event did not run because it was debounced. */
  bounced: boolean;
  error?: { error?: { error?: unknown; type?: string } };
}

/** Blocks of one container, or of one item of a list. */
export interface Blocks {
  areas: Record<string, { blocks?: Block[] }>;
  /** By the id of each block: one for a container, and one for each item of a list. */
  subBlocks: Record<string, Blocks[]>;
  reset(): void;
}

/** An opened page with its state. */
export interface Context {
  id: string;
  pageId: string;
  state: Record<string, unknown>;
  requests: Record<string, RequestRun[]>;
  eventLog: unknown[];
  _internal: {
    RootBlocks: Blocks;
    State: { set(path: string, value: unknown): void; frozenState: string | null; initialized: boolean };
    onInitDone?: boolean;
    onInitAsyncDone?: boolean;
    update(): void;
    runOnInit(progress: () => void): Promise<void>;
    runOnInitAsync(progress: () => void): Promise<void>;
  };
}

/** A run of a request, the newest first. */
export interface RequestRun {
  loading: boolean;
  payload?: unknown;
  response: unknown;
  error?: unknown;
}

/** The state that the pages of a session share. */
export interface EngineRoot {
  basePath: string;
  contexts: Record<string, Context>;
  home: { pageId?: string; configured?: boolean };
  inputs: Record<string, unknown>;
  lowdefyGlobal: Record<string, unknown>;
  menus: unknown[];
  pageId: string;
  user: object | null;
  _internal: Record<string, unknown>;
}

/** A page in the format of the build. */
export interface PageConfig {
  id: string;
  pageId: string;
  type: string;
  properties?: { title?: unknown };
  auth?: { public: boolean; roles?: string[] };
  requests?: { requestId: string }[];
  [name: string]: unknown;
}

/** The context for reading requests and pages. */
export interface ApiContext {
  readConfigFile(path: string): Promise<unknown>;
  authorize(config: { auth?: object }): boolean;
  session?: { user: object };
}
