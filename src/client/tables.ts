/** Operations on the tables of the app. */
import { checkDatabase, type Reader } from "../storage/rows.js";
import { inTurn } from "../storage/turns.js";

/** Runs an operation on the ctx's own database when those before it have ended. */
export function taking<Ctx extends Reader, Args extends readonly unknown[], Result>(
  operation: (ctx: Ctx, ...args: Args) => Promise<Result>,
): (ctx: Ctx, ...args: Args) => Promise<Result> {
  return (ctx, ...args) => {
    checkDatabase(ctx);
    return inTurn(ctx, () => operation(ctx, ...args));
  };
}
