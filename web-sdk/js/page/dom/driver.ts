import type { PageDriver } from "../driver.ts";
export const DomDriver = class {} as unknown as new (options: unknown, limits: unknown) => PageDriver;
