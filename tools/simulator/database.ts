/** `ctx.db` over a transaction, for the tables of one component. */
import { CommitTsPlaceholder, type Value } from "convex/values";
import { copyOf, type Document, tableOf } from "./document.js";
import { SimulatedQuery } from "./query.js";
import { Syscalls } from "./syscalls.js";
import type { Transaction } from "./transaction.js";

type Fields = Record<string, Value | undefined>;

/** Tables of different components have different names in the store. */
export function qualifiedName(component: string, table: string): string {
  return `${component}/${table}`;
}

const commitTs = new CommitTsPlaceholder();

/** A `ctx.db`. It is a class and not an object literal of closures, because every call to a function creates one. */
export class Database {
  readonly vars = { commitTs };

  constructor(
    readonly transaction: Transaction,
    readonly component: string,
    /** A stale query reads only the snapshot, without the transaction's own writes, and depends on nothing. */
    readonly kind: "query" | "stale query" | "mutation",
    readonly syscalls = new Syscalls(),
  ) {}

  // TypeScript's `private` instead of #names, because code may call through a proxy.
  private get stale(): boolean {
    return this.kind === "stale query";
  }

  /** The same object, because scheduled functions are documents like any other here. */
  get system(): this {
    return this;
  }

  // Each method takes (id, …) or (table, id, …), as in Convex.
  async get(...args: [string] | [string, string]): Promise<Document | null> {
    const [table, id] = args.length === 2 ? args : [undefined, args[0]];
    if (table !== undefined && tableOf(id) !== qualifiedName(this.component, table)) {
      throw new Error(`${id} is not an id of ${table}.`);
    }
    const document = await this.syscalls.read(() => this.transaction.get(id, { stale: this.stale }));
    return document && copyOf(document);
  }

  /** The id, if it is one of that table. */
  normalizeId(table: string, id: string): string | null {
    return id.includes("|") && tableOf(id) === qualifiedName(this.component, table) ? id : null;
  }

  query(table: string): SimulatedQuery {
    return new SimulatedQuery(this.transaction, qualifiedName(this.component, table), this.stale, this.syscalls);
  }

  async insert(table: string, fields: Fields): Promise<string> {
    this.checkWritable();
    return await this.syscalls.alone(() => this.transaction.insert(qualifiedName(this.component, table), fields));
  }

  async patch(...args: [string, Fields] | [string, string, Fields]): Promise<void> {
    this.checkWritable();
    await this.syscalls.alone(() => {
      this.transaction.patch(...idAndFields(args));
    });
  }

  async replace(...args: [string, Fields] | [string, string, Fields]): Promise<void> {
    this.checkWritable();
    await this.syscalls.alone(() => {
      this.transaction.replace(...idAndFields(args));
    });
  }

  async delete(...args: [string] | [string, string]): Promise<void> {
    this.checkWritable();
    await this.syscalls.alone(() => {
      this.transaction.delete(args.length === 2 ? args[1] : args[0]);
    });
  }

  private checkWritable(): void {
    if (this.kind !== "mutation") throw new Error("A query cannot write.");
  }
}

function idAndFields(args: [string, Fields] | [string, string, Fields]): [string, Fields] {
  return args.length === 3 ? [args[1], args[2]] : args;
}
