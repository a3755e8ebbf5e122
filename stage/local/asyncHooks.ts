/** Stands in for "node:async_hooks" in the browser. There, no function inherits anything that `snapshot` would have to leave behind. */
export const AsyncLocalStorage = {
  snapshot:
    () =>
    <Result>(run: () => Result): Result =>
      run(),
};
