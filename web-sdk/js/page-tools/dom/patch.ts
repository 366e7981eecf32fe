/** Functions of the page that are replaced for the time of an action, and put back exactly as they were. */

export class Patches {
  #restores: (() => void)[] = [];

  /** Replaces a function, until {@link Patches.restore}. `replace` gets the one that is there, and returns the new one. */
  replace<Target extends object, Name extends keyof Target & string>(target: Target, name: Name, replace: (original: Target[Name]) => Target[Name]): void {
    const own = Object.getOwnPropertyDescriptor(target, name);
    const original = target[name];
    if (typeof original !== "function" || own?.configurable === false) return;
    const value = replace(original);
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: own?.enumerable ?? true });
    this.#restores.push(() => {
      // What the page has put there meanwhile stays.
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
