export interface Start {
  readonly at: number;
  readonly count: number;
}

/** The most tokens that start within `period` ms; an interval that begins between two starts holds no more. */
export function most(starts: readonly Start[], period: number): number {
  const within = starts.map(({ at: from }) =>
    starts.filter(({ at }) => at >= from && at < from + period).reduce((sum, { count }) => sum + count, 0),
  );
  return Math.max(0, ...within);
}
