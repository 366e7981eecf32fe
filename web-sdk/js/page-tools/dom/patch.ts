/** Replaces functions of the page during an action, and restores them exactly. */

export class Patches {
  #restores: (() => void)[] = [];

  /** Replaces a function, until {@link Patches.restore}. `replace` receives the current one, and returns the new one. */
  replace<Target extends object, Name extends keyof Target & string>(target: Target, name: Name, replace: (original: Target[Name]) => Target[Name]): void {
    const own = Object.getOwnPropertyDescriptor(target, name);
    const original = target[name];
    if (typeof original !== "function" || own?.configurable === false) return;
    const value = replace(original);
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: own?.enumerable ?? true });
    this.#restores.push(() => {
      // A function that the page has set meanwhile stays.
      if (Object.getOwnPropertyDescriptor(target, name)?.value !== value) return;
      if (own) Object.defineProperty(target, name, own);
      else delete target[name];
    });
  }

  restore(): void {
    for (const restore of this.#restores.reverse()) restore();
    this.#restores = [];
  }
}
