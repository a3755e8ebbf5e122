/**
 * The queries that clients are subscribed to. Each runs once for all its subscribers, and again after each write to a table that
 * it has read.
 */
import type { JSONValue } from "convex/values";
import { AsyncLocalStorage } from "node:async_hooks";
import type { Backend, Outcome } from "./backend.js";

export interface LiveQuery {
  readonly path: string;
  readonly args: JSONValue;
  /** Undefined until it has run. */
  outcome: Outcome | undefined;
  /** Increments with each new outcome. */
  version: number;
  subscribers: number;
  tables: Set<string>;
  isStale: boolean;
}

// A function's write starts a round, which is not part of the function's transaction.
const outside = AsyncLocalStorage.snapshot();

export class LiveQueries {
  private readonly queries = new Map<string, LiveQuery>();
  private round: Promise<void> | undefined;
  private isAnotherRoundDue = false;

  /** @param onRound - called when all queries are up to date with all commits before the round. */
  constructor(
    private readonly run: Backend["run"],
    private readonly onRound: () => void,
  ) {}

  subscribe(path: string, args: JSONValue): LiveQuery {
    const id = JSON.stringify([path, args]);
    let query = this.queries.get(id);
    if (!query) {
      query = { path, args, outcome: undefined, version: 0, subscribers: 0, tables: new Set(), isStale: true };
      this.queries.set(id, query);
    }
    query.subscribers++;
    return query;
  }

  unsubscribe(query: LiveQuery): void {
    query.subscribers--;
    if (query.subscribers === 0) this.queries.delete(JSON.stringify([query.path, query.args]));
  }

  tableChanged(table: string): void {
    let isSeen = false;
    for (const query of this.queries.values()) {
      if (!query.tables.has(table)) continue;
      query.isStale = true;
      isSeen = true;
    }
    if (isSeen) this.refresh();
  }

  /** Runs all queries again, because the functions themselves may have changed. */
  everythingChanged(): void {
    for (const query of this.queries.values()) query.isStale = true;
    this.refresh();
  }

  /** Runs the stale queries again in a round that begins after now, and then calls `onRound`. */
  refresh(): void {
    this.isAnotherRoundDue = true;
    this.round ??= outside(() => this.runRounds());
  }

  private async runRounds(): Promise<void> {
    // Writes of the same turn of the event loop share one round.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.isAnotherRoundDue) {
      this.isAnotherRoundDue = false;
      const stale = [...this.queries.values()].filter(({ isStale }) => isStale);
      await Promise.all(stale.map((query) => this.update(query)));
      this.onRound();
    }
    this.round = undefined;
  }

  private async update(query: LiveQuery): Promise<void> {
    // A write from here on makes the query stale again. The query runs after the transaction that is writing now.
    query.isStale = false;
    const outcome = await this.run("query", query.path, query.args, (table) => query.tables.add(table));
    if (JSON.stringify(outcome) === JSON.stringify(query.outcome)) return;
    query.outcome = outcome;
    query.version++;
  }
}
