/**
 * Functions reach their database through the syscalls that convex-test installs in `globalThis.Convex`. This looks over
 * their shoulder: which tables a function reads and writes, also in components and in scheduled functions. It also closes two
 * gaps of convex-test's scheduler.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** Who wants to know what the functions within `observe` do. Tables of a component pass under their own names. */
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
/** A timer cannot wait longer; Node.js would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

const observers = new AsyncLocalStorage<Observer>();
let installed = false;

export function observe<Result>(observer: Observer, run: () => Promise<Result>): Promise<Result> {
  return observers.run(observer, run);
}

/** Call it once convex-test has installed its own. */
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
      // Not a function of an embedded backend: tests run both in one process.
      if (!observers.getStore()) return await inner.asyncSyscall(op, args);
      if (isSchedule(op)) checkDelay(args);
      if (isCancel(op) && !(await isPending(inner, args))) return "{}";
      // Noted before it happens: whoever looks again waits for this transaction anyway.
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

/** convex-test fails, outside of any function, when a job is cancelled that runs or has run. Convex ignores that. */
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
  // An index is named "table.index"; convex-test's ids are a number and the table.
  return table ?? source?.tableName ?? source?.indexName?.split(".")[0] ?? id?.replace(/^\d+/, "") ?? "";
}
