/** `ctx.db` over a transaction, for the tables of one component. */
import { CommitTsPlaceholder, type Value } from "convex/values";
import { type Document, tableOf } from "./document.js";
import { SimulatedQuery } from "./query.js";
import type { Transaction } from "./transaction.js";

type Fields = Record<string, Value | undefined>;

/** Tables of different components have different names in the store. */
export function qualifiedName(component: string, table: string): string {
  return `${component}/${table}`;
}

export interface Databases {
  readonly transaction: Transaction;
  readonly component: string;
  /** Reads of the snapshot alone: no own writes, no dependency. */
  readonly stale: boolean;
}

export function openReader({ transaction, component, stale }: Databases) {
  const own = (id: string, table?: string) => {
    if (table !== undefined && tableOf(id) !== qualifiedName(component, table)) {
      throw new Error(`${id} is no id of ${qualifiedName(component, table)}.`);
    }
    return id;
  };
  const get = async (first: string, second?: string): Promise<Document | null> => {
    const id = second === undefined ? own(first) : own(second, first);
    const document = transaction.get(id, { stale });
    return await Promise.resolve(document && { ...document });
  };
  const query = (table: string) => new SimulatedQuery(transaction, qualifiedName(component, table), stale);
  return { get, query, system: { get, query } };
}

export function openWriter(databases: Databases) {
  const { transaction, component } = databases;
  return {
    ...openReader(databases),
    vars: { commitTs: new CommitTsPlaceholder() },
    insert: async (table: string, fields: Fields): Promise<string> =>
      await Promise.resolve(transaction.insert(qualifiedName(component, table), fields)),
    // Each takes (id, fields) or (table, id, fields), as Convex does.
    patch: async (...args: [string, Fields] | [string, string, Fields]): Promise<void> => {
      transaction.patch(...idAndFields(args));
      await Promise.resolve();
    },
    replace: async (...args: [string, Fields] | [string, string, Fields]): Promise<void> => {
      transaction.replace(...idAndFields(args));
      await Promise.resolve();
    },
    delete: async (...args: [string] | [string, string]): Promise<void> => {
      transaction.delete(args[args.length - 1] as string);
      await Promise.resolve();
    },
  };
}

function idAndFields(args: [string, Fields] | [string, string, Fields]): [string, Fields] {
  return args.length === 3 ? [args[1], args[2]] : args;
}
