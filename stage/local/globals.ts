/** Gives a browser the `setImmediate` of Node.js: it runs a function after all microtasks, without the pause of a timeout. */
export function provideSetImmediate(): void {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  const setImmediate = (run: () => void) => {
    waiting.push(run);
    port2.postMessage(null);
  };
  Object.assign(globalThis, { setImmediate });
}
