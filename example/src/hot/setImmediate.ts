/** Node.js has it and browsers do not: runs something after all microtasks, without the pause that a timeout makes. */
export function provideSetImmediate(): void {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  Object.assign(globalThis, {
    setImmediate: (run: () => void) => {
      waiting.push(run);
      port2.postMessage(null);
    },
  });
}
