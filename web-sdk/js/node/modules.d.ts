/**
 * The parts of Node that this folder uses, which are also in Deno and Bun. The types of Node would replace those of the
 * browser.
 */

declare module "node:fs" {
  export function readFileSync(path: string | URL): Uint8Array<ArrayBuffer>;
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function mkdirSync(path: string, options: { recursive: true; mode: number }): void;
  export function writeFileSync(path: string, text: string, options: { flag: "wx"; mode: number; flush: true }): void;
  export function linkSync(existing: string, path: string): void;
  export function rmSync(path: string, options: { force: true }): void;
}

declare module "node:path" {
  export function dirname(path: string): string;
}

declare module "node:process" {
  const process: {
    readonly pid: number;
    readonly versions: Readonly<Record<string, string | undefined>>;
    prependListener(signal: string, listener: () => void): void;
    off(signal: string, listener: () => void): void;
    listenerCount(signal: string): number;
    kill(pid: number, signal: string): void;
  };
  export default process;
}
