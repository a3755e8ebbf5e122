/**
 * Observes which tables a function reads and writes, also in components and in scheduled functions. Functions reach their
 * database through the syscalls that convex-test installs in `globalThis.Convex`, and this module wraps them. It also closes two
 * gaps of convex-test's scheduler.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** Gets the tables that the functions within `observe` read and write. A component's tables have their own names here. */
export interface Observer {
  read(table: string): void;
  wrote(table: string): void;
}

interface Syscalls {
  syscall: (op: string, args: string) => string;
  asyncSyscall: (op: string, args: string) => Promise<string>;
  jsSyscall: (op: string, args: Record<string, unknown>) => unknown;
}

const JOBS = "_scheduled_functions";
/** The longest wait of a timer. For a longer one, Node.js fires at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

const observers = new AsyncLocalStorage<Observer>();
let installed = false;

export function observe<Result>(observer: Observer, run: () => Promise<Result>): Promise<Result> {
  return observers.run(observer, run);
}

/** Call it after convex-test has installed its syscalls. */
export function installObservedSyscalls(): void {
  if (installed) return;
  installed = true;
  const scope = globalThis as unknown as { Convex: Syscalls };
  const inner = scope.Convex;
  scope.Convex = {
    get jsSyscall() {
      return inner.jsSyscall;
    },
    syscall: (op, args) => {
      note(op, args);
      return inner.syscall(op, args);
    },
    asyncSyscall: async (op, args) => {
      // Without an observer the function is not one of an embedded backend: tests run both kinds in one process.
      if (!observers.getStore()) return await inner.asyncSyscall(op, args);
      if (isSchedule(op)) checkDelay(args);
      if (isCancel(op) && !(await isPending(inner, args))) return "{}";
      // Reported before the write happens: a query that runs again waits for this transaction anyway.
      note(op, args);
      return await inner.asyncSyscall(op, args);
    },
  };
}

function isSchedule(op: string): boolean {
  return op === "1.0/schedule" || op === "1.0/actions/schedule";
}

function isCancel(op: string): boolean {
  return op === "1.0/cancel_job" || op === "1.0/actions/cancel_job";
}

function checkDelay(args: string): void {
  const { ts } = JSON.parse(args) as { ts: number };
  if (ts * 1000 - Date.now() <= LONGEST_DELAY_MS) return;
  throw new Error("The embedded backend cannot schedule anything more than 24.8 days ahead.");
}

/** Cancelling a job that runs or has run makes convex-test fail, outside of any function. Convex ignores such a call. */
async function isPending(inner: Syscalls, args: string): Promise<boolean> {
  const { id } = JSON.parse(args) as { id: string };
  const job = JSON.parse(await inner.asyncSyscall("1.0/get", JSON.stringify({ table: JOBS, id }))) as {
    state: { kind: string };
  } | null;
  return job?.state.kind === "pending";
}

function note(op: string, args: string): void {
  const observer = observers.getStore();
  if (!observer) return;
  switch (op) {
    case "1.0/get":
    case "1.0/count":
    case "1.0/queryStream":
    case "1.0/queryPage":
      observer.read(tableOf(args));
      return;
    case "1.0/insert":
    case "1.0/shallowMerge":
    case "1.0/replace":
    case "1.0/remove":
      observer.wrote(tableOf(args));
      return;
    default:
      if (isSchedule(op) || isCancel(op)) observer.wrote(JOBS);
  }
}

interface DatabaseArgs {
  table?: string;
  id?: string;
  query?: { source: { tableName?: string; indexName?: string } };
}

function tableOf(args: string): string {
  const { table, id, query } = JSON.parse(args) as DatabaseArgs;
  const source = query?.source;
  // The name of an index is "table.index". An id of convex-test is a number followed by the table.
  return table ?? source?.tableName ?? source?.indexName?.split(".")[0] ?? id?.replace(/^\d+/, "") ?? "";
}
