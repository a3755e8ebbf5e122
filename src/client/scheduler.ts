/**
 * The app's scheduler, as calls that schedule work get it. An app can neither see nor cancel what a component
 * schedules, so the app's own scheduler runs the jobs, except those of queues in the component.
 */
import * as convex from "convex/server";
import { convexToJson, type Value } from "convex/values";
import { isObject } from "../engine/fields.js";
import { checkCtx, fieldError, misuseError } from "../engine/misuse.js";

/**
 * The required part of a ctx for scheduling, besides the limit's place: the app's scheduler, so that the job is the
 * app's own.
 */
export interface SchedulingCtx {
  scheduler: convex.Scheduler;
}

/** A function and its arguments, as the scheduler takes them. */
export interface JobCall {
  fn: Parameters<convex.Scheduler["runAt"]>[1];
  fnArgs: convex.OptionalRestArgs<convex.SchedulableFunctionReference>;
}

/**
 * @throws what the scheduler would, when the tokens were already taken: of a caller who goes on, or an action, they
 * would stay so.
 */
export function checkFunction(name: string, fn: unknown, [args = {}]: readonly unknown[]): void {
  if (!isReference(fn)) throw fieldError(name, "the function", "a reference, such as internal.jobs.run", fn);
  // Convex stores these two anywhere but as a function's arguments.
  if (!isObject(args) || args instanceof ArrayBuffer) {
    throw fieldError(name, "the function's arguments", "an object", args);
  }
  try {
    convexToJson(args as Value);
  } catch (error) {
    throw misuseError(name, `the function's arguments cannot be stored: ${(error as Error).message}`);
  }
}

/** Whether Convex can call it: a reference, in full, or the text of one. */
export function isReference(fn: unknown): boolean {
  if (fn === "") return false;
  try {
    convex.getFunctionAddress(fn);
    return true;
  } catch {
    // No reference, or one that stops at a module.
    return false;
  }
}

export function checkScheduler(ctx: unknown, call: string): void {
  checkCtx(ctx, "scheduler", `${call} needs the ctx of a mutation or action`);
}
