/** The database operations of a call, over all its attempts. */
export interface Cost {
  /** Index ranges read, including those read from a stale snapshot. */
  rangesRead: number;
  /** Documents that reads returned. */
  rowsRead: number;
  /** Documents that a patch, replace or delete reads again, by id. */
  rowsReread: number;
  /**
   * Reads that wait for each other. Those of one `Promise.all` count once. The read of a patch counts only if nothing has read the
   * document before.
   */
  readRounds: number;
  /** Documents inserted, changed or deleted. */
  rowsWritten: number;
  /** Calls to `ctx.db`. */
  storeCalls: number;
  /** Calls to functions by `ctx.runQuery`, `ctx.runMutation` or the scheduler. */
  hops: number;
}

export function noCost(): Cost {
  return { rangesRead: 0, rowsRead: 0, rowsReread: 0, readRounds: 0, rowsWritten: 0, storeCalls: 0, hops: 0 };
}

export function addCost(total: Cost, cost: Cost): void {
  for (const name of Object.keys(cost) as (keyof Cost)[]) total[name] += cost[name];
}

export function dividedCost(cost: Cost, by: number): Cost {
  const divided = noCost();
  for (const name of Object.keys(divided) as (keyof Cost)[]) divided[name] = cost[name] / by;
  return divided;
}
