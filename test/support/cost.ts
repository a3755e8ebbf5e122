/** The cost of a call, from the transaction's own metrics. */
import type { MutationCtx, QueryCtx } from "./places.js";

export interface Cost {
  /** Index ranges read. They are billed, and a concurrent write can conflict with them. */
  ranges: number;
  documentsRead: number;
  documentsWritten: number;
  /** Calls across the component's boundary. */
  hops: number;
}

type AnyCtx = QueryCtx | MutationCtx;

/** The cost of `call`. Its ctx counts hops. */
export async function costOf<Ctx extends AnyCtx>(ctx: Ctx, call: (ctx: Ctx) => Promise<unknown>): Promise<Cost> {
  let hops = 0;
  const counting = new Proxy(ctx, {
    get: (target, property, receiver) => {
      const value: unknown = Reflect.get(target, property, receiver);
      if (property !== "runQuery" && property !== "runMutation") return value;
      return (...args: unknown[]) => {
        hops++;
        return (value as (...args: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  const before = await ctx.meta.getTransactionMetrics();
  await call(counting);
  const after = await ctx.meta.getTransactionMetrics();
  return {
    ranges: after.databaseQueries.used - before.databaseQueries.used,
    documentsRead: after.documentsRead.used - before.documentsRead.used,
    documentsWritten: after.documentsWritten.used - before.documentsWritten.used,
    hops,
  };
}
