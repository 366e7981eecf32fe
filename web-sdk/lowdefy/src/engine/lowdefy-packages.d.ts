/** Types for Lowdefy's packages, which have none: only the parts that this host uses. */

declare module "@lowdefy/engine" {
  import type { Context, EngineRoot, PageConfig } from "./engine-types.ts";
  const getContext: (options: { config: PageConfig; lowdefy: EngineRoot }) => Context;
  export default getContext;
  export function createLink(handlers: {
    lowdefy: EngineRoot;
    backLink(): void;
    disabledLink(): void;
    newOriginLink(target: { url?: string; href?: string; query?: string }): void;
    noLink(): void;
    sameOriginLink(target: { pathname: string; query?: string; newTab?: boolean; setInput(): void }): void;
  }): (target: unknown) => void;
}

declare module "@lowdefy/helpers" {
  export const serializer: {
    serialize(value: unknown): unknown;
    deserialize(value: unknown): unknown;
    copy<Value>(value: Value): Value;
  };
  export const set: (object: unknown, path: string | string[], value: unknown) => void;
}

declare module "@lowdefy/build" {
  const build: (options: {
    customTypesMap?: object;
    directories: { build: string; config: string; server: string };
    logger: object;
    stage?: string;
  }) => Promise<void>;
  export default build;
  export function createPluginTypesMap(options: { packageName: string; packageTypes: object; typePrefix?: string; typesMap: object; version: string }): void;
}

declare module "@lowdefy/api" {
  import type { ApiContext, PageConfig } from "./engine-types.ts";
  export function createApiContext(context: object): void;
  export function getPageConfig(context: ApiContext, target: { pageId: string }): Promise<PageConfig | null>;
  export function getRootConfig(context: ApiContext): Promise<{ home: { pageId?: string; configured?: boolean }; lowdefyGlobal: Record<string, unknown>; menus: Menu[] }>;
  export function callRequest(
    context: ApiContext,
    request: { blockId: string; pageId: string; payload: unknown; requestId: string },
  ): Promise<{ response: unknown }>;
  interface Menu {
    menuId: string;
    links?: MenuItem[];
  }
  interface MenuItem {
    type: string;
    pageId?: string;
    url?: string;
    properties?: { title?: unknown };
    links?: MenuItem[];
  }
}
