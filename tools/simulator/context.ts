/** `ctx` as the functions of one component see it within one attempt. */
import type { Value } from "convex/values";
import { Database, qualifiedName } from "./database.js";
import { type Address, type Deployment, JOBS, ROOT } from "./deployment.js";
import type { Random } from "./random.js";
import { runWithin } from "./sandbox.js";
import { Syscalls } from "./syscalls.js";
import type { Transaction } from "./transaction.js";

/** The document of a scheduled function. */
export interface Job {
  readonly address: Address;
  /** One element, as on Convex. */
  readonly args: readonly [unknown];
  readonly scheduledTime: number;
  readonly state: { readonly kind: "pending" | "success" | "canceled" };
}

/** The most bytes that the platform allows one transaction to read. */
const MAX_BYTES_READ = 16 * 2 ** 20;

/** An estimate of a document's bytes, for code that limits itself by the bytes that it has read. */
const BYTES_PER_ROW = 512;

/** One attempt: a transaction, and the code that runs in it. */
export class Execution {
  /** The component whose code runs now. `createFunctionHandle` gets no ctx, so it reads the component here. */
  current = ROOT;

  constructor(
    readonly deployment: Deployment,
    readonly transaction: Transaction,
    readonly random: Random,
  ) {}

  get now(): number {
    return this.transaction.now;
  }

  createFunctionHandle(reference: unknown): string {
    return this.deployment.createHandle(reference, this.current);
  }

  /** Runs the app's own code as a mutation. */
  async run<Result>(body: (ctx: SimulatedCtx) => Promise<Result>): Promise<Result> {
    return await runWithin(this, async () => await body(new SimulatedCtx(this, ROOT, "mutation")));
  }

  /** Runs a function, which other code calls, as a sub-transaction. */
  async call(address: Address, args: unknown, kind: SimulatedCtx["kind"]): Promise<unknown> {
    this.transaction.cost.hops++;
    const handler = this.deployment.handler(address);
    const caller = this.current;
    this.current = address.component;
    try {
      const ctx = new SimulatedCtx(this, address.component, kind);
      return await this.transaction.nested(async () => await handler(ctx, args ?? {}));
    } finally {
      this.current = caller;
    }
  }
}

/** A `ctx`. It is a class and not an object literal of closures, because every call to a function creates one. */
export class SimulatedCtx {
  readonly db: Database;
  readonly syscalls: Syscalls;
  readonly meta = new Meta(this);
  readonly scheduler = new Scheduler(this);

  constructor(
    readonly execution: Execution,
    readonly component: string,
    readonly kind: "query" | "stale query" | "mutation",
  ) {
    const { transaction } = execution;
    this.syscalls = new Syscalls(() => transaction.cost.readRounds++);
    this.db = new Database(transaction, component, kind, this.syscalls);
  }

  // All are own properties, because wrappers of functions copy a ctx with `{ ...ctx }`.
  runQuery = async (reference: unknown, args?: unknown, options?: QueryOptions): Promise<unknown> => {
    const address = this.execution.deployment.resolve(reference, this.component);
    const stale = this.kind === "stale query" || options?.useStaleSnapshot === true;
    return await this.syscalls.alone(() => this.execution.call(address, args, stale ? "stale query" : "query"));
  };

  runMutation = async (reference: unknown, args?: unknown): Promise<unknown> => {
    if (this.kind !== "mutation") throw new Error("A query cannot run a mutation.");
    const address = this.execution.deployment.resolve(reference, this.component);
    return await this.syscalls.alone(() => this.execution.call(address, args, "mutation"));
  };
}

class Meta {
  constructor(readonly ctx: SimulatedCtx) {}

  async getFunctionMetadata() {
    const type = this.ctx.kind === "mutation" ? "mutation" : "query";
    return await Promise.resolve({ name: "", componentPath: this.ctx.component, type, visibility: "public" });
  }

  getSnapshotTs(): bigint {
    const { transaction } = this.ctx.execution;
    return transaction.store.snapshotTs(transaction.snapshot);
  }

  async getTransactionMetrics() {
    const { rowsRead, rowsReread, rowsWritten } = this.ctx.execution.transaction.cost;
    const used = rowsRead * BYTES_PER_ROW;
    return await Promise.resolve({
      bytesRead: { used, remaining: MAX_BYTES_READ - used },
      documentsRead: { used: rowsRead + rowsReread },
      documentsWritten: { used: rowsWritten },
    });
  }
}

class Scheduler {
  constructor(readonly ctx: SimulatedCtx) {}

  async runAt(time: number, reference: unknown, args: unknown = {}): Promise<string> {
    const { execution, component } = this.ctx;
    const address = execution.deployment.resolve(reference, component);
    const job: Job = { address, args: [args], scheduledTime: time, state: { kind: "pending" } };
    const fields = job as unknown as Record<string, Value>;
    return await this.ctx.syscalls.alone(() => execution.transaction.insert(qualifiedName(component, JOBS), fields));
  }

  async runAfter(delayMs: number, reference: unknown, args?: unknown): Promise<string> {
    return await this.runAt(this.ctx.execution.now + delayMs, reference, args);
  }

  async cancel(id: string): Promise<void> {
    await this.ctx.syscalls.alone(() => {
      this.ctx.execution.transaction.patch(id, { state: { kind: "canceled" } });
    });
  }
}

interface QueryOptions {
  readonly useStaleSnapshot?: boolean;
}
