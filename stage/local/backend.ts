/**
 * A Convex backend without Node.js: it runs the app's functions on the simulator's database, in real time, one transaction after the
 * other. Nothing is checked against validators, and everything is forgotten when the page is closed.
 */
import { ConvexError, convexToJson, type JSONValue, jsonToConvex, type Value } from "convex/values";
import type { Outcome } from "../../tools/backend/backend.js";
import { Execution, type Job, type SimulatedCtx } from "../../tools/simulator/context.js";
import { type Address, type Component, Deployment, JOBS, ROOT } from "../../tools/simulator/deployment.js";
import { Store } from "../../tools/simulator/store.js";
import { Transaction } from "../../tools/simulator/transaction.js";

/** Read before the first transaction: while one runs, the simulator replaces the clock and the random numbers. */
const { now, random } = { now: Date.now, random: Math.random };

type Kind = "query" | "mutation" | "action";
const FLAGS = { query: "isQuery", mutation: "isMutation", action: "isAction" } as const;
/** What a registered function has beside its handler. */
type Registered = Partial<Record<"isPublic" | (typeof FLAGS)[Kind], true>>;

export class LocalBackend {
  readonly #deployment: Deployment;
  readonly #store = new Store(now);
  #last: Promise<unknown> = Promise.resolve();

  /** @param onWrite - called after each commit that has written */
  constructor(
    readonly app: Component,
    readonly onWrite: () => void,
  ) {
    this.#deployment = new Deployment(app);
    this.#deployment.createTables(this.#store);
  }

  /** Runs a public function, as a client asks for it: "stage/burst:send". */
  run = async (kind: Kind | "any", path: string, args: JSONValue): Promise<Outcome> => {
    try {
      const [module = "", name = "default"] = path.split(":");
      const address = { component: ROOT, module: module.replace(/\.js$/, ""), name };
      const fn = this.#functionOf(address);
      if (kind === "any" || !fn.isPublic || !fn[FLAGS[kind]]) throw new Error(`There is no public ${kind} ${path}.`);
      return {
        ok: true,
        value: convexToJson(((await this.#call(kind, address, jsonToConvex(args))) ?? null) as Value),
      };
    } catch (error) {
      const message = `Uncaught ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
      return error instanceof ConvexError
        ? { ok: false, message, data: convexToJson(error.data as Value) }
        : { ok: false, message };
    }
  };

  /** Runs an HTTP action. */
  async fetch(module: string, name: string, request: Request): Promise<Response> {
    const handler = this.#deployment.handler({ component: ROOT, module, name });
    return (await handler(this.#actionCtx(ROOT), request)) as Response;
  }

  /** A function of the app. */
  #functionOf({ module, name }: Address): Registered {
    return (this.app.modules?.[module] as Record<string, unknown> | undefined)?.[name] ?? {};
  }

  async #call(kind: Kind, address: Address, args: unknown): Promise<unknown> {
    if (kind === "action") return await this.#deployment.handler(address)(this.#actionCtx(address.component), args);
    return await this.#transact((ctx) => ctx.execution.call(address, args, kind));
  }

  /** Runs a transaction after all earlier ones. */
  #transact<Result>(body: (ctx: SimulatedCtx) => Promise<Result>): Promise<Result> {
    const result = this.#last.then(async () => {
      const transaction = new Transaction(this.#store, now());
      try {
        const value = await new Execution(this.#deployment, transaction, random).run(body);
        if (transaction.writes.size === 0) transaction.close();
        else {
          const written = [...transaction.writes];
          transaction.commit();
          this.onWrite();
          for (const [id, { table, document }] of written) {
            if (table.endsWith(`/${JOBS}`) && document) this.#plan(id, document as unknown as Job);
          }
        }
        return value;
      } catch (error) {
        transaction.close();
        throw error;
      }
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  #plan(id: string, job: Job): void {
    if (job.state.kind !== "pending") return;
    // A timer may fire early, and cannot wait for longer than 24.8 days.
    const waitMs = Math.min(job.scheduledTime - now(), 2 ** 31 - 1);
    if (waitMs > 0)
      setTimeout(() => {
        this.#plan(id, job);
      }, waitMs);
    else void this.#runJob(id, job).catch(console.warn);
  }

  /** Runs a scheduled function once, unless it was cancelled: a mutation in the transaction that marks the job, an action after it. */
  async #runJob(id: string, { address, args: [args] }: Job): Promise<void> {
    const kind = address.component === ROOT && this.#functionOf(address).isAction ? "action" : "mutation";
    const isDue = await this.#transact(async (ctx) => {
      const job = (await ctx.db.get(id)) as unknown as Job | null;
      if (job?.state.kind !== "pending") return false;
      await ctx.db.patch(id, { state: { kind: "success" } });
      if (kind === "mutation") await ctx.execution.call(address, args, kind);
      return true;
    });
    if (isDue && kind === "action") await this.#call(kind, address, args);
  }

  /** The `ctx` of an action: each call is a transaction of its own. */
  #actionCtx(component: string): object {
    const calling = (kind: Kind) => (reference: unknown, args: unknown) =>
      this.#call(kind, this.#deployment.resolve(reference, component), args ?? {});
    return {
      runQuery: calling("query"),
      runMutation: calling("mutation"),
      runAction: calling("action"),
      scheduler: {
        runAt: (time: number, reference: unknown, args: unknown) =>
          this.#transact((ctx) => ctx.scheduler.runAt(time, reference, args)),
        runAfter: (delayMs: number, reference: unknown, args: unknown) =>
          this.#transact((ctx) => ctx.scheduler.runAfter(delayMs, reference, args)),
      },
    };
  }
}
