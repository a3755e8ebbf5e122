/**
 * Only the tests move the clock. convex-test pins `Date` while a function runs, never before its last commit. With a clock that stands
 * still, a function would be 1 ms ahead after two commits, and no clock could step back. convex-test leaves a global alone that it
 * cannot configure. This file is loaded before each test file (vitest.config.ts).
 */
if (Object.getOwnPropertyDescriptor(globalThis, "Date")?.configurable) {
  let current = globalThis.Date;
  Object.defineProperty(globalThis, "Date", {
    configurable: false,
    get: () => current,
    // Fake timers replace `Date` by an assignment.
    set: (next: DateConstructor) => {
      current = next;
    },
  });
}
