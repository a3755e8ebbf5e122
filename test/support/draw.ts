/** What chance chooses, said by a test. */
import { vi } from "vitest";

/** `Math.random` gives these numbers in turn, and then one just below 1. Until `vi.restoreAllMocks`. */
export function draw(...numbers: readonly number[]): void {
  const drawn = [...numbers];
  vi.spyOn(Math, "random").mockImplementation(() => drawn.shift() ?? 0.99);
}
