/** Random numbers that a test chooses. */
import { vi } from "vitest";

/** `Math.random` returns these numbers in turn, and then 0.99, until `vi.restoreAllMocks`. */
export function draw(...numbers: readonly number[]): void {
  const drawn = [...numbers];
  vi.spyOn(Math, "random").mockImplementation(() => drawn.shift() ?? 0.99);
}
