/** What a call asks of the database, over all its attempts. */
export interface Cost {
  /** Index ranges read, including those read from a stale snapshot. */
  rangesRead: number;
  /** Documents that reads returned. The one that a patch, replace or delete reads again is not among them. */
  rowsRead: number;
  /** Documents inserted, changed or deleted. */
  rowsWritten: number;
  /** Calls to `ctx.db`. */
  storeCalls: number;
  /** Calls to functions of components. */
  hops: number;
}

export function noCost(): Cost {
  return { rangesRead: 0, rowsRead: 0, rowsWritten: 0, storeCalls: 0, hops: 0 };
}

export function addCost(total: Cost, cost: Cost): void {
  total.rangesRead += cost.rangesRead;
  total.rowsRead += cost.rowsRead;
  total.rowsWritten += cost.rowsWritten;
  total.storeCalls += cost.storeCalls;
  total.hops += cost.hops;
}
