/**
 * A light backend for many transactions a second: the simulator's tables and its order of reads and writes, without its waits and its
 * conflicts. Transactions that run at the same time therefore all read the old rows.
 */
import type { Value } from "convex/values";
import { rateLimits } from "../../tools/simulator/component.js";
import { Execution, type Job, SimulatedCtx } from "../../tools/simulator/context.js";
import { qualifiedName } from "../../tools/simulator/database.js";
import { Deployment, ROOT } from "../../tools/simulator/deployment.js";
import { Store } from "../../tools/simulator/store.js";
import { Transaction } from "../../tools/simulator/transaction.js";
import { type PlaceName, schema, type StoredRow } from "./places.js";

const tableIn = (place: PlaceName) => qualifiedName(place === "tables" ? ROOT : "rateLimits", "rateLimits");
const deployment = new Deployment({ schema, children: { rateLimits } });

export class FakeDb {
  readonly #store = new Store();

  constructor() {
    deployment.createTables(this.#store);
  }

  /** Runs a mutation with a ctx of its own. If it throws, or is only tried, its writes are discarded. */
  async transaction<T>(body: (ctx: object) => Promise<T>, isTried = false): Promise<T> {
    return await this.#committed(
      async (transaction) =>
        await body(new SimulatedCtx(new Execution(deployment, transaction, Math.random), ROOT, "mutation")),
      isTried,
    );
  }

  rows(place: PlaceName): (StoredRow & { _id: string })[] {
    const documents: unknown = [...this.#store.table(tableIn(place)).documents(Infinity)];
    return documents as (StoredRow & { _id: string })[];
  }

  /** Inserts a row that the package might never write. */
  async insertRow(place: PlaceName, row: StoredRow): Promise<void> {
    await this.#committed((transaction) => {
      transaction.insert(tableIn(place), row as unknown as Record<string, Value>);
    });
  }

  /** A scheduled function begins, unless it was cancelled. */
  async begin(id: string): Promise<void> {
    await this.#committed((transaction) => {
      const { state } = transaction.get(id) as unknown as Job;
      if (state.kind === "pending") transaction.patch(id, { state: { kind: "success" } });
    });
  }

  async #committed<T>(body: (transaction: Transaction) => T | Promise<T>, isTried = false): Promise<T> {
    const transaction = new Transaction(this.#store, Date.now());
    try {
      const result = await body(transaction);
      if (isTried) transaction.close();
      else transaction.commit();
      return result;
    } catch (error) {
      transaction.close();
      throw error;
    }
  }
}
