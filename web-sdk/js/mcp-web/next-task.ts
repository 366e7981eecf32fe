/**
 * Waits for one task of the page, so that work begun earlier has run. Timers of a hidden tab are late, but messages are
 * not.
 */
export function nextTask(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}
