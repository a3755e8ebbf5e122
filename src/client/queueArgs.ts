/** What calls to a limit's queue say. */
import type { ThrowChoice, ThrowsArg } from "./args.js";

/** The names of the limits that are defined with a queue. */
export type QueueNameIn<Limits> = {
  [Name in keyof Limits]: Limits[Name] extends { queue: object } ? Name : string extends keyof Limits ? Name : never;
}[keyof Limits] &
  string;

/** What `enqueueRateLimited` takes. */
export type EnqueueArgs<
  Limits,
  Name,
  FunctionType extends "mutation" | "action" = "mutation" | "action",
  Said extends ThrowChoice | undefined = ThrowChoice | undefined,
> = {
  name: Name;
  /** Tokens that the job takes: a finite number of at least 0, default 1. */
  count?: number | undefined;
  /** 0, the default, to one less than the queue's `priorities`: the higher go first. */
  priority?: number | undefined;
  /**
   * Of a job whose function returns `{ used }`, what kind of function that is: the difference to `count` is then charged or given back
   * when it ends, for a mutation in its own transaction. An action that dies stays charged.
   */
  settles?: FunctionType | undefined;
} & ThrowsArg<Said> &
  (Name extends keyof Limits ? KeyArg<Limits[Name]> & FairByArg<Limits[Name]> : unknown);

type KeyArg<Definition> = Definition extends { keyed: true }
  ? { key: string }
  : Definition extends { keyed: false }
    ? { key?: undefined }
    : { key?: string | undefined };

type FairByArg<Definition> = Definition extends { queue: { fair: true } }
  ? {
      /** Whose job it is: users with jobs of one priority take turns. A non-empty string. */
      fairBy: string;
    }
  : Definition extends { queue: { fair: boolean } }
    ? { fairBy?: string | undefined }
    : string extends keyof Definition
      ? { fairBy?: string | undefined }
      : { fairBy?: undefined };

/** The same, whatever the types promised. */
export interface AnyEnqueueArgs {
  name: string;
  key?: string | undefined;
  count?: number | undefined;
  priority?: number | undefined;
  fairBy?: string | undefined;
  settles?: "mutation" | "action" | undefined;
  throws?: ThrowChoice | undefined;
}
