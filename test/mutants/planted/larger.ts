/** The source that test/mutants plants faults into. */
export function larger(a: number, b: number): number {
  return a > b ? a : b;
}

export function isSmall(a: number): boolean {
  return a < 10;
}
