/**
 * A Convex backend within this process, in memory: it runs an app's functions on convex-test, and adds what a deployment has around
 * them. It is for development and tests, and stores nothing on disk.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type FunctionReference,
  type GenericSchema,
  makeFunctionReference,
  type SchemaDefinition,
} from "convex/server";
import { ConvexError, convexToJson, type JSONValue, jsonToConvex, type Value } from "convex/values";
import { convexTest } from "convex-test";
import { installObservedSyscalls, observe } from "./syscalls.js";

type Modules = Record<string, () => Promise<unknown>>;
interface Part {
  schema: SchemaDefinition<GenericSchema, boolean>;
  modules: Modules;
}

/** An app and its components. */
export interface App extends Part {
  components?: Record<string, Part>;
}

const TYPE_FLAGS = { query: "isQuery", mutation: "isMutation", action: "isAction" };
export type FunctionType = keyof typeof TYPE_FLAGS;

/** The result of a function, with values as Convex sends them. */
export type Outcome = { ok: true; value: JSONValue } | { ok: false; message: string; data?: JSONValue };

/** How long the record of a finished job is kept. It is short, because every query of convex-test scans the ids of all documents. */
const JOB_RECORD_MS = 10 * 60_000;
const CLEANING_INTERVAL_MS = 60_000;

// Work that a function starts must not run in the function's transaction, where timers are forbidden.
const outside = AsyncLocalStorage.snapshot();

export type Backend = ReturnType<typeof openBackend>;

/**
 * @param app - its modules are loaded when they are called, so that they may change.
 * @param onWrite - called with a table while a function writes to it; the write may not be committed yet.
 */
export function openBackend(app: App, onWrite: (table: string) => void = () => undefined) {
  const modules = loadedOutside(app.modules);
  const t = convexTest({ schema: app.schema, modules });
  for (const [name, component] of Object.entries(app.components ?? {})) {
    t.registerComponent(name, component.schema, loadedOutside(component.modules));
  }
  installObservedSyscalls();

  const observed = <Result>(run: () => Promise<Result>, read: (table: string) => void = () => undefined) =>
    observe({ read, wrote: onWrite }, run);

  /** Runs a public function. `read` is called with each table that the function reads. */
  async function run(asked: FunctionType | "any", path: string, args: JSONValue, read?: (table: string) => void) {
    try {
      const { name, type } = await findPublic(modules, asked, path);
      const call = t[type] as (fn: FunctionReference<FunctionType>, args: Value) => Promise<Value | undefined>;
      const fn = makeFunctionReference<FunctionType>(name);
      return success(await observed(() => call(fn, jsonToConvex(args)), read));
    } catch (error) {
      return failure(error);
    }
  }

  /** Runs an HTTP action. `path` begins with "/". */
  async function fetchHttp(path: string, init: RequestInit): Promise<Response> {
    if (!findModule(modules, "http")) return new Response("This app has no HTTP actions.", { status: 404 });
    return await observed(() => t.fetch(path, init));
  }

  const cleaning = setInterval(() => void observed(() => t.run(deleteOldJobs)), CLEANING_INTERVAL_MS);
  cleaning.unref();
  return {
    run,
    fetchHttp,
    close: () => {
      clearInterval(cleaning);
    },
  };
}

function loadedOutside(modules: Modules): Modules {
  return Object.fromEntries(Object.entries(modules).map(([path, load]) => [path, () => outside(load)]));
}

function success(value: Value | undefined): Outcome {
  return { ok: true, value: convexToJson(value ?? null) };
}

function failure(error: unknown): Outcome {
  const message = `Uncaught ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
  return error instanceof ConvexError
    ? { ok: false, message, data: convexToJson(error.data as Value) }
    : { ok: false, message };
}

/** Finds a function that a client may call: its name, as convex-test expects it, and its type. Clients cannot find internal functions. */
async function findPublic(modules: Modules, asked: FunctionType | "any", path: string) {
  const [file = "", name = "default"] = path.split(":");
  const modulePath = file.replace(/\.js$/, "");
  const load = findModule(modules, modulePath);
  const exported = (load && ((await load()) as Record<string, unknown>)) ?? {};
  const candidate: unknown = Object.hasOwn(exported, name) ? exported[name] : undefined;
  const isFunction = typeof candidate === "function" && "isPublic" in candidate && candidate.isPublic === true;
  if (!isFunction) {
    throw new Error(`Could not find public function for '${path}'. Did you forget to run \`npx convex dev\`?`);
  }
  const types = (asked === "any" ? Object.keys(TYPE_FLAGS) : [asked]) as FunctionType[];
  const type = types.find((one) => TYPE_FLAGS[one] in candidate);
  if (!type) throw new Error(`Trying to execute ${path} as ${asked}, but it is defined as another type.`);
  return { name: `${modulePath}:${name}`, type };
}

function findModule(modules: Modules, name: string): (() => Promise<unknown>) | undefined {
  const generated = Object.keys(modules).find((path) => path.includes("_generated/")) ?? "";
  const root = generated.slice(0, generated.indexOf("_generated/"));
  const path = [".ts", ".tsx", ".js"]
    .map((extension) => `${root}${name}${extension}`)
    .find((it) => Object.hasOwn(modules, it));
  return path === undefined || name.startsWith("_generated/") ? undefined : modules[path];
}

/** Deletes old job records. It uses the syscall, because a function of the app may not delete from a system table. */
async function deleteOldJobs(ctx: {
  db: { system: { query(table: "_scheduled_functions"): { collect(): Promise<Job[]> } } };
}) {
  const { Convex } = globalThis as unknown as { Convex: { asyncSyscall(op: string, args: string): Promise<string> } };
  for (const { _id: id, completedTime, scheduledTime, state } of await ctx.db.system
    .query("_scheduled_functions")
    .collect()) {
    const isOver = state.kind !== "pending" && state.kind !== "inProgress";
    if (!isOver || Date.now() - (completedTime ?? scheduledTime) < JOB_RECORD_MS) continue;
    await Convex.asyncSyscall("1.0/remove", JSON.stringify({ table: "_scheduled_functions", id }));
  }
}

interface Job {
  _id: string;
  scheduledTime: number;
  completedTime?: number;
  state: { kind: string };
}
