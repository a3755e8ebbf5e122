/** `ctx`, as the functions of one component see it, within one attempt. */
import type { Value } from "convex/values";
import { type Databases, openWriter, qualifiedName } from "./database.js";
import { type Address, type Deployment, JOBS, ROOT } from "./deployment.js";
import type { Random } from "./random.js";
import { runWithin } from "./sandbox.js";
import type { Transaction } from "./transaction.js";

/** The document of a scheduled function. */
export interface Job {
  readonly address: Address;
  readonly args: unknown;
  readonly scheduledTime: number;
  readonly state: { readonly kind: "pending" | "success" | "canceled" };
}

/** What the platform allows one transaction to read. */
const MAX_BYTES_READ = 16 * 2 ** 20;

/** A guess at a document's bytes, for code that paces itself by what it has read. */
const BYTES_PER_ROW = 512;

/** One attempt: a transaction, and the code that runs in it. */
export class Execution {
  /** The component whose code runs now: `createFunctionHandle` has no ctx to tell it. */
  #current = ROOT;

  constructor(
    readonly deployment: Deployment,
    readonly transaction: Transaction,
    readonly random: Random,
  ) {}

  async run<Result>(body: (ctx: SimulatedCtx) => Promise<Result>): Promise<Result> {
    return await runWithin(
      {
        now: this.transaction.now,
        random: this.random,
        createFunctionHandle: (reference) => this.deployment.createHandle(reference, this.#current),
      },
      async () => await body(this.context({ kind: "mutation", component: ROOT, stale: false })),
    );
  }

  context({ kind, component, stale }: { kind: "query" | "mutation"; component: string; stale: boolean }) {
    const databases: Databases = { transaction: this.transaction, component, stale };
    const call = async (
      kind: "query" | "mutation",
      address: Address,
      args: unknown,
      stale: boolean,
    ): Promise<unknown> => {
      this.transaction.cost.hops++;
      const ctx = this.context({ kind, component: address.component, stale });
      const caller = this.#current;
      this.#current = address.component;
      try {
        return await this.transaction.nested(
          async () => await this.deployment.handler(address)(kind === "query" ? asQuery(ctx) : ctx, args ?? {}),
        );
      } finally {
        this.#current = caller;
      }
    };
    const resolve = (reference: unknown) => this.deployment.resolve(reference, component);
    return {
      db: openWriter(databases),
      runQuery: async (reference: unknown, args?: unknown, options?: { useStaleSnapshot?: boolean }) =>
        await call("query", resolve(reference), args, stale || options?.useStaleSnapshot === true),
      runMutation: async (reference: unknown, args?: unknown) =>
        await call("mutation", resolve(reference), args, false),
      /** For the platform: runs a scheduled function. */
      runAddress: async (address: Address, args: unknown) => await call("mutation", address, args, false),
      scheduler: this.#scheduler(component, resolve),
      meta: {
        getFunctionMetadata: async () =>
          await Promise.resolve({ name: "", componentPath: component, type: kind, visibility: "public" as const }),
        getTransactionMetrics: async () => {
          const used = this.transaction.cost.rowsRead * BYTES_PER_ROW;
          return await Promise.resolve({ bytesRead: { used, remaining: MAX_BYTES_READ - used } });
        },
      },
    };
  }

  #scheduler(component: string, resolve: (reference: unknown) => Address) {
    const table = qualifiedName(component, JOBS);
    const runAt = async (time: number, reference: unknown, args: unknown = {}): Promise<string> => {
      const job: Job = { address: resolve(reference), args, scheduledTime: time, state: { kind: "pending" } };
      return await Promise.resolve(this.transaction.insert(table, job as unknown as Record<string, Value>));
    };
    return {
      runAt,
      runAfter: async (delayMs: number, reference: unknown, args?: unknown) =>
        await runAt(this.transaction.now + delayMs, reference, args),
      cancel: async (id: string) => {
        this.transaction.patch(id, { state: { kind: "canceled" } });
        await Promise.resolve();
      },
    };
  }
}

export type SimulatedCtx = ReturnType<Execution["context"]>;

/** A query's ctx cannot write. */
function asQuery({ db, runQuery, meta }: SimulatedCtx) {
  return { db: { get: db.get, query: db.query, system: db.system }, runQuery, meta };
}
