// Runs before the scripts of a page and of its frames. It records which timers are pending, which listeners `window` and
// `document` have, how often the browser calls JavaScript, and the size of WebAssembly memories. The page has the record
// of its frames, too, in `window.startRecord`.
(() => {
  const record = (top.startRecord ??= { timers: new Map(), listeners: [], wakeUps: 0, memories: new Set(), frames: 0 });
  const frame = record.frames++;

  const wrapTimer = (set, clear, repeats) => {
    const [setTimer, clearTimer] = [globalThis[set], globalThis[clear]];
    // `setTimeout` and `setInterval` share their ids.
    const key = (id) => `${frame} ${/Timeout|Interval/.test(set) ? "timer" : set} ${id}`;
    globalThis[set] = (callback, ...rest) => {
      const onTimer = (...args) => {
        if (!repeats) record.timers.delete(key(id));
        record.wakeUps += 1;
        return callback(...args);
      };
      const id = setTimer.call(globalThis, onTimer, ...rest);
      record.timers.set(key(id), /Timeout|Interval/.test(set) ? `${set} ${rest[0] ?? 0} ms` : set);
      return id;
    };
    globalThis[clear] = (id) => {
      record.timers.delete(key(id));
      clearTimer.call(globalThis, id);
    };
  };
  wrapTimer("setTimeout", "clearTimeout", false);
  wrapTimer("setInterval", "clearInterval", true);
  wrapTimer("requestAnimationFrame", "cancelAnimationFrame", false);
  wrapTimer("requestIdleCallback", "cancelIdleCallback", false);

  const wrappers = new WeakMap();
  const wrapListener = (listener) => {
    if (!listener) return listener;
    if (!wrappers.has(listener)) {
      wrappers.set(listener, function (event) {
        record.wakeUps += 1;
        return typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event);
      });
    }
    return wrappers.get(listener);
  };
  const describe = (target) => (target === document ? "document" : target === globalThis ? "window" : undefined);
  const forget = (target, type, listener, capture) => {
    record.listeners = record.listeners.filter(
      (it) => it.target !== target || it.type !== type || it.listener !== listener || it.capture !== capture,
    );
  };
  const add = (target, type, listener, capture) => {
    if (!listener || !describe(target)) return;
    // The browser has the same listener only once.
    forget(target, type, listener, capture);
    const name = `${frame ? "frame's " : ""}${describe(target)} ${type}`;
    record.listeners.push({ target, type, listener, capture, name });
  };
  const isCapture = (options) => Boolean(typeof options === "object" ? options?.capture : options);
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    const target = this ?? globalThis;
    add(target, type, listener, isCapture(options));
    return addEventListener.call(target, type, wrapListener(listener), options);
  };
  EventTarget.prototype.removeEventListener = function (type, listener, options) {
    const target = this ?? globalThis;
    forget(target, type, listener, isCapture(options));
    return removeEventListener.call(target, type, wrapListener(listener), options);
  };

  // Listeners that are properties, such as `onmessage`.
  for (const owner of [WebSocket.prototype, MessagePort.prototype, BroadcastChannel.prototype, globalThis, document]) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (!name.startsWith("on") || !property.set || !property.configurable) continue;
      Object.defineProperty(owner, name, {
        ...property,
        set(listener) {
          forget(this, name, property.get.call(this), undefined);
          property.set.call(this, typeof listener === "function" ? wrapListener(listener) : listener);
          add(this, name, property.get.call(this), undefined);
        },
      });
    }
  }

  for (const name of ["instantiate", "instantiateStreaming"]) {
    const instantiate = WebAssembly[name];
    WebAssembly[name] = async (...args) => {
      const result = await instantiate.apply(WebAssembly, args);
      for (const value of Object.values((result.instance ?? result).exports)) {
        if (value instanceof WebAssembly.Memory) record.memories.add(value);
      }
      return result;
    };
  }
})();
