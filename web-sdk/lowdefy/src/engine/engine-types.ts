/** What is used of the objects of Lowdefy's engine. */

/** A block of a page, as the engine keeps it. */
export interface Block {
  /** Unique among the blocks that are there, with the indices of lists. */
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
  /** What the engine compares to see whether a block has changed. */
  before?: string;
  methods: Record<string, (...args: unknown[]) => unknown>;
  Events: { events: Record<string, { loading: boolean }> };
  visibleEval: { output?: unknown };
  showValidation?: boolean;
  /** Whether its evaluation is to be taken over with the next update. */
  update?: boolean;
  /** How many items a list has: set by this host. */
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

/** What a type of blocks says of itself. */
export interface BlockMeta {
  category: "container" | "display" | "input" | "list";
  valueType?: string;
  initValue?: unknown;
}

/** How an event went. It never throws. */
export interface EventResult {
  success: boolean;
  bounced: boolean;
  error?: { error?: { error?: unknown; type?: string } };
}

/** Blocks of one container, or of one item of a list. */
export interface Blocks {
  areas: Record<string, { blocks?: Block[] }>;
  /** By the id of each block: one for a container, one for each item of a list. */
  subBlocks: Record<string, Blocks[]>;
  reset(): void;
}

/** A page that was opened, with its state. */
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

/** A request that was made, the newest first. */
export interface RequestRun {
  loading: boolean;
  payload?: unknown;
  response: unknown;
  error?: unknown;
}

/** What the pages of a session share. */
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

/** A page as the build has written it. */
export interface PageConfig {
  id: string;
  pageId: string;
  type: string;
  properties?: { title?: unknown };
  auth?: { public: boolean; roles?: string[] };
  requests?: { requestId: string }[];
  [name: string]: unknown;
}

/** What requests and pages are read with. */
export interface ApiContext {
  readConfigFile(path: string): Promise<unknown>;
  authorize(config: { auth?: object }): boolean;
  session?: { user: object };
}
