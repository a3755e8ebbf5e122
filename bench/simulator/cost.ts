/** What a call asks of the database, over all its attempts. */
export interface Cost {
  /** Index ranges read, including those read from a stale snapshot. */
  rangesRead: number;
  /** Documents that reads returned. */
  rowsRead: number;
  /** Documents that a patch, replace or delete reads again, by id. */
  rowsReread: number;
  /** Reads one after another: those of one `Promise.all` count once, and a patch's only when nothing has read the document. */
  readRounds: number;
  /** Documents inserted, changed or deleted. */
  rowsWritten: number;
  /** Calls to `ctx.db`. */
  storeCalls: number;
  /** Calls to functions of components. */
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
