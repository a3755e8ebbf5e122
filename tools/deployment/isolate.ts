/**
 * Evaluates modules as a deployment does: each in a new context that has the globals of functions and none of Node's. Operations that
 * a deployment refuses before a function is called throw errors.
 */
import vm from "node:vm";
import { build, type Plugin } from "esbuild";
import { type Module } from "./wire.js";

/** The purpose for which a module is loaded, in the words of a deployment's errors. */
export type Purpose = keyof typeof REFUSED;

/**
 * The operations that are refused for every purpose: nothing asynchronous starts before a call. Schemas and definitions refuse more,
 * because a schema and a component's definition must be the same on every deployment.
 */
const ALWAYS = ["fetch", "timers", "cryptographic randomness", "a call of Convex"] as const;
const REFUSED = {
  "at import time": ALWAYS,
  "when evaluating schema": [...ALWAYS, "environment variables"],
  "when evaluating app definition": [...ALWAYS, "Math.random", "Date", "performance"],
  "when evaluating component definition": [...ALWAYS, "Math.random", "Date", "performance", "environment variables"],
} as const;

/** The globals of Convex's runtime that are not part of the language (npm-packages/udf-runtime of its repository). */
const COPIED = [
  "AbortController",
  "AbortSignal",
  "Blob",
  "CryptoKey",
  "DOMException",
  "Event",
  "EventTarget",
  "File",
  "FormData",
  "Headers",
  "ReadableStream",
  "ReadableStreamBYOBReader",
  "ReadableStreamDefaultReader",
  "Request",
  "Response",
  "TextDecoder",
  "TextDecoderStream",
  "TextEncoder",
  "TextEncoderStream",
  "TransformStream",
  "URL",
  "URLSearchParams",
  "WritableStream",
  "WritableStreamDefaultWriter",
  "atob",
  "btoa",
  "console",
  "structuredClone",
] as const;

/** Code that runs within the context, so that errors and promises are those of the context. */
const PRELUDE = `(purpose, refused, subtle) => {
  const refuse = (what, answer) => () => {
    if (refused.includes(what)) throw new Error(what + " unsupported " + purpose);
    return answer;
  };
  const now = refuse("Date", 1.7e12);
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given) => (given.length > 0 ? new target(...given) : new target(now())),
    apply: () => new RealDate(now()).toString(),
    get: (target, name) => (name === "now" ? now : target[name]),
  });
  RealDate.prototype.constructor = globalThis.Date;
  Math.random = refuse("Math.random", 0.5);
  const random = refuse("cryptographic randomness");
  const env = refuse("environment variables");
  const get = (target, name) => (typeof name === "string" ? env() : target[name]);
  const call = refuse("a call of Convex");
  Object.assign(globalThis, {
    self: globalThis,
    process: { env: new Proxy({}, { get }) },
    crypto: { subtle, getRandomValues: random, randomUUID: random },
    performance: { now: refuse("performance", 0) },
    fetch: refuse("fetch"),
    setTimeout: refuse("timers"),
    setInterval: refuse("timers"),
    clearTimeout() {},
    clearInterval() {},
    Convex: { syscall: call, asyncSyscall: call, jsSyscall: call, op: call, asyncOp: call },
  });
  Object.defineProperty(globalThis.performance, "timeOrigin", { get: refuse("performance", 1.7e12) });
}`;

/** Returns the exports of a module. @throws Error with a deployment's message */
export async function evaluate(
  sources: ReadonlyMap<string, string>,
  file: string,
  purpose: Purpose,
): Promise<Record<string, unknown>> {
  // One script of the module and its chunks. The bundler adds only the script's `var` to the context.
  const result = await build({
    entryPoints: [file],
    bundle: true,
    // A deployment has no `require`, but the bundler would give one to modules that use it.
    define: { require: "undefined" },
    format: "iife",
    globalName: "exported",
    treeShaking: false,
    write: false,
    logLevel: "silent",
    target: "esnext",
    plugins: [inMemory(sources)],
  }).catch((error: unknown) => {
    throw new Error(`Failed to analyze ${file}: ${messageOf(error)}`, { cause: error });
  });
  const context = vm.createContext(Object.fromEntries(COPIED.map((name) => [name, globalOf(name)])));
  const prepare = vm.runInContext(PRELUDE, context) as (...given: unknown[]) => void;
  prepare(purpose, REFUSED[purpose], crypto.subtle);
  try {
    vm.runInContext(result.outputFiles[0]?.text ?? "", context, { filename: file });
  } catch (error) {
    throw new Error(`Failed to analyze ${file}: ${messageOf(error)}`, { cause: error });
  }
  return context["exported"] as Record<string, unknown>;
}

/** The sources of a folder's modules, by path. */
export function sourcesOf(modules: readonly Module[]): Map<string, string> {
  return new Map(modules.map(({ path, source }) => [path, source]));
}

function globalOf(name: string): unknown {
  return (globalThis as unknown as Record<string, unknown>)[name];
}

function messageOf(error: unknown): string {
  const [first] = (error as { errors?: { text: string }[] }).errors ?? [];
  return first?.text ?? (error as Error).message;
}

/** Resolves imports to the other modules that were pushed, and to nothing else. */
function inMemory(sources: ReadonlyMap<string, string>): Plugin {
  return {
    name: "pushed modules",
    setup(bundler) {
      bundler.onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
        const file = kind === "entry-point" ? path : new URL(path, `file:///${importer}`).pathname.slice(1);
        if (sources.has(file)) return { path: file, namespace: "pushed" };
        return { errors: [{ text: `Couldn't find the module ${path} that ${importer} imports` }] };
      });
      // `export {}`, because the bundler takes a file without imports and exports for CommonJS, which gets `require` and `module`.
      bundler.onLoad({ filter: /.*/, namespace: "pushed" }, ({ path }) => ({
        contents: `${sources.get(path) ?? ""}\nexport {};`,
      }));
    },
  };
}
