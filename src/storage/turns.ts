/**
 * Turns: operations on one database run one after another. A transaction may issue calls at once (`Promise.all`); the database then
 * reads for all of them before it writes for any, and each would take the same tokens.
 */

/** The end of the last turn, however it ended, for each `ctx.db`: one of these exists for each transaction. */
const lastTurns = new WeakMap<object, Promise<unknown>>();

/** Runs `operation` when those before it on the same database have ended, however they ended. An action's ctx has no database. */
export async function inTurn<T>(ctx: object, operation: () => Promise<T>): Promise<T> {
  const { db } = ctx as { db?: object };
  if (!db) return await operation();
  const before = lastTurns.get(db);
  const turn = before ? before.then(operation) : operation();
  lastTurns.set(db, turn.catch(ignore));
  return await turn;
}

/** The caller of the turn that failed has its error; the next turn does not wait for reasons. */
function ignore(): void {
  return undefined;
}
