/* eslint-disable */
/**
 * Generated `ComponentApi` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */

import type { FunctionReference } from "convex/server";

/**
 * A utility for referencing a Convex component's exposed API.
 *
 * Useful when expecting a parameter like `components.myComponent`.
 * Usage:
 * ```ts
 * async function myFunction(ctx: QueryCtx, component: ComponentApi) {
 *   return ctx.runQuery(component.someFile.someQuery, { ...args });
 * }
 * ```
 */
export type ComponentApi<Name extends string | undefined = string | undefined> =
  {
    public: {
      check: FunctionReference<
        "query",
        "internal",
        {
          config:
            | {
                capacity?: number;
                kind: "token bucket";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | {
                anchor?: number;
                capacity?: number;
                kind: "fixed window";
                maxReserved?: number;
                period: number | "day" | "week" | "month" | "year";
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
                start?: number;
                timeZone?: string;
              }
            | {
                kind: "sliding window";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | { kind: "concurrency"; lease: number; slots: number };
          count?: number;
          describes?: boolean;
          key?: string;
          name: string;
          plan?: string | null;
          refundable?: boolean;
          reserve?: boolean | { within: number };
          shadow?: boolean;
        },
        | {
            lease?: {
              key?: string;
              name: string;
              seen?: number;
              takenAt: number;
              until: number;
            };
            ok: true;
            policy?: { tokens: number; unlimited?: true; windowMs: number };
            remaining?: number;
            resetAt?: number;
            retryAt?: number;
            row?: string;
            shadow?:
              | {
                  lease?: {
                    key?: string;
                    name: string;
                    seen?: number;
                    takenAt: number;
                    until: number;
                  };
                  ok: true;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  remaining?: number;
                  resetAt?: number;
                  retryAt?: number;
                  row?: string;
                  takenAt?: number;
                }
              | {
                  ok: false;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  reason?: "blocked" | "too large";
                  remaining?: number;
                  resetAt?: number;
                  retryAt: number;
                };
            takenAt?: number;
          }
        | {
            ok: false;
            policy?: { tokens: number; unlimited?: true; windowMs: number };
            reason?: "blocked" | "too large";
            remaining?: number;
            resetAt?: number;
            retryAt: number;
          },
        Name
      >;
      checkAll: FunctionReference<
        "query",
        "internal",
        {
          requests: Array<{
            config:
              | {
                  capacity?: number;
                  kind: "token bucket";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | {
                  anchor?: number;
                  capacity?: number;
                  kind: "fixed window";
                  maxReserved?: number;
                  period: number | "day" | "week" | "month" | "year";
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                  start?: number;
                  timeZone?: string;
                }
              | {
                  kind: "sliding window";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | { kind: "concurrency"; lease: number; slots: number };
            count?: number;
            describes?: boolean;
            key?: string;
            name: string;
            plan?: string | null;
            refundable?: boolean;
            reserve?: boolean | { within: number };
            shadow?: boolean;
          }>;
        },
        | {
            ok: true;
            retryAt?: number;
            statuses: Array<
              | {
                  lease?: {
                    key?: string;
                    name: string;
                    seen?: number;
                    takenAt: number;
                    until: number;
                  };
                  ok: true;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  remaining?: number;
                  resetAt?: number;
                  retryAt?: number;
                  row?: string;
                  shadow?:
                    | {
                        lease?: {
                          key?: string;
                          name: string;
                          seen?: number;
                          takenAt: number;
                          until: number;
                        };
                        ok: true;
                        policy?: {
                          tokens: number;
                          unlimited?: true;
                          windowMs: number;
                        };
                        remaining?: number;
                        resetAt?: number;
                        retryAt?: number;
                        row?: string;
                        takenAt?: number;
                      }
                    | {
                        ok: false;
                        policy?: {
                          tokens: number;
                          unlimited?: true;
                          windowMs: number;
                        };
                        reason?: "blocked" | "too large";
                        remaining?: number;
                        resetAt?: number;
                        retryAt: number;
                      };
                  takenAt?: number;
                }
              | {
                  ok: false;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  reason?: "blocked" | "too large";
                  remaining?: number;
                  resetAt?: number;
                  retryAt: number;
                }
            >;
          }
        | {
            ok: false;
            retryAt: number;
            statuses: Array<
              | {
                  lease?: {
                    key?: string;
                    name: string;
                    seen?: number;
                    takenAt: number;
                    until: number;
                  };
                  ok: true;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  remaining?: number;
                  resetAt?: number;
                  retryAt?: number;
                  row?: string;
                  shadow?:
                    | {
                        lease?: {
                          key?: string;
                          name: string;
                          seen?: number;
                          takenAt: number;
                          until: number;
                        };
                        ok: true;
                        policy?: {
                          tokens: number;
                          unlimited?: true;
                          windowMs: number;
                        };
                        remaining?: number;
                        resetAt?: number;
                        retryAt?: number;
                        row?: string;
                        takenAt?: number;
                      }
                    | {
                        ok: false;
                        policy?: {
                          tokens: number;
                          unlimited?: true;
                          windowMs: number;
                        };
                        reason?: "blocked" | "too large";
                        remaining?: number;
                        resetAt?: number;
                        retryAt: number;
                      };
                  takenAt?: number;
                }
              | {
                  ok: false;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  reason?: "blocked" | "too large";
                  remaining?: number;
                  resetAt?: number;
                  retryAt: number;
                }
            >;
          },
        Name
      >;
      consume: FunctionReference<
        "mutation",
        "internal",
        {
          config:
            | {
                capacity?: number;
                kind: "token bucket";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | {
                anchor?: number;
                capacity?: number;
                kind: "fixed window";
                maxReserved?: number;
                period: number | "day" | "week" | "month" | "year";
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
                start?: number;
                timeZone?: string;
              }
            | {
                kind: "sliding window";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | { kind: "concurrency"; lease: number; slots: number };
          count?: number;
          describes?: boolean;
          key?: string;
          name: string;
          plan?: string | null;
          refundable?: boolean;
          reserve?: boolean | { within: number };
          shadow?: boolean;
        },
        | {
            lease?: {
              key?: string;
              name: string;
              seen?: number;
              takenAt: number;
              until: number;
            };
            ok: true;
            policy?: { tokens: number; unlimited?: true; windowMs: number };
            remaining?: number;
            resetAt?: number;
            retryAt?: number;
            row?: string;
            shadow?:
              | {
                  lease?: {
                    key?: string;
                    name: string;
                    seen?: number;
                    takenAt: number;
                    until: number;
                  };
                  ok: true;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  remaining?: number;
                  resetAt?: number;
                  retryAt?: number;
                  row?: string;
                  takenAt?: number;
                }
              | {
                  ok: false;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  reason?: "blocked" | "too large";
                  remaining?: number;
                  resetAt?: number;
                  retryAt: number;
                };
            takenAt?: number;
          }
        | {
            ok: false;
            policy?: { tokens: number; unlimited?: true; windowMs: number };
            reason?: "blocked" | "too large";
            remaining?: number;
            resetAt?: number;
            retryAt: number;
          },
        Name
      >;
      consumeAll: FunctionReference<
        "mutation",
        "internal",
        {
          requests: Array<{
            config:
              | {
                  capacity?: number;
                  kind: "token bucket";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | {
                  anchor?: number;
                  capacity?: number;
                  kind: "fixed window";
                  maxReserved?: number;
                  period: number | "day" | "week" | "month" | "year";
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                  start?: number;
                  timeZone?: string;
                }
              | {
                  kind: "sliding window";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | { kind: "concurrency"; lease: number; slots: number };
            count?: number;
            describes?: boolean;
            key?: string;
            name: string;
            plan?: string | null;
            refundable?: boolean;
            reserve?: boolean | { within: number };
            shadow?: boolean;
          }>;
        },
        | {
            ok: true;
            retryAt?: number;
            statuses: Array<
              | {
                  lease?: {
                    key?: string;
                    name: string;
                    seen?: number;
                    takenAt: number;
                    until: number;
                  };
                  ok: true;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  remaining?: number;
                  resetAt?: number;
                  retryAt?: number;
                  row?: string;
                  shadow?:
                    | {
                        lease?: {
                          key?: string;
                          name: string;
                          seen?: number;
                          takenAt: number;
                          until: number;
                        };
                        ok: true;
                        policy?: {
                          tokens: number;
                          unlimited?: true;
                          windowMs: number;
                        };
                        remaining?: number;
                        resetAt?: number;
                        retryAt?: number;
                        row?: string;
                        takenAt?: number;
                      }
                    | {
                        ok: false;
                        policy?: {
                          tokens: number;
                          unlimited?: true;
                          windowMs: number;
                        };
                        reason?: "blocked" | "too large";
                        remaining?: number;
                        resetAt?: number;
                        retryAt: number;
                      };
                  takenAt?: number;
                }
              | {
                  ok: false;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  reason?: "blocked" | "too large";
                  remaining?: number;
                  resetAt?: number;
                  retryAt: number;
                }
            >;
          }
        | {
            ok: false;
            retryAt: number;
            statuses: Array<
              | {
                  lease?: {
                    key?: string;
                    name: string;
                    seen?: number;
                    takenAt: number;
                    until: number;
                  };
                  ok: true;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  remaining?: number;
                  resetAt?: number;
                  retryAt?: number;
                  row?: string;
                  shadow?:
                    | {
                        lease?: {
                          key?: string;
                          name: string;
                          seen?: number;
                          takenAt: number;
                          until: number;
                        };
                        ok: true;
                        policy?: {
                          tokens: number;
                          unlimited?: true;
                          windowMs: number;
                        };
                        remaining?: number;
                        resetAt?: number;
                        retryAt?: number;
                        row?: string;
                        takenAt?: number;
                      }
                    | {
                        ok: false;
                        policy?: {
                          tokens: number;
                          unlimited?: true;
                          windowMs: number;
                        };
                        reason?: "blocked" | "too large";
                        remaining?: number;
                        resetAt?: number;
                        retryAt: number;
                      };
                  takenAt?: number;
                }
              | {
                  ok: false;
                  policy?: {
                    tokens: number;
                    unlimited?: true;
                    windowMs: number;
                  };
                  reason?: "blocked" | "too large";
                  remaining?: number;
                  resetAt?: number;
                  retryAt: number;
                }
            >;
          },
        Name
      >;
    };
    queue: {
      cancel: FunctionReference<
        "mutation",
        "internal",
        {
          id: string;
          key?: string;
          name: string;
          terms?: {
            configs: Array<{
              config:
                | {
                    capacity?: number;
                    kind: "token bucket";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | {
                    anchor?: number;
                    capacity?: number;
                    kind: "fixed window";
                    maxReserved?: number;
                    period: number | "day" | "week" | "month" | "year";
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                    start?: number;
                    timeZone?: string;
                  }
                | {
                    kind: "sliding window";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | { kind: "concurrency"; lease: number; slots: number };
              plan?: string;
            }>;
            name: string;
            queue: {
              aging?: number;
              attempts?: number;
              fair?: boolean;
              maxQueued?: number;
              priorities?: number;
            };
            with?: Array<{
              configs: Array<{
                config:
                  | {
                      capacity?: number;
                      kind: "token bucket";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | {
                      anchor?: number;
                      capacity?: number;
                      kind: "fixed window";
                      maxReserved?: number;
                      period: number | "day" | "week" | "month" | "year";
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                      start?: number;
                      timeZone?: string;
                    }
                  | {
                      kind: "sliding window";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | { kind: "concurrency"; lease: number; slots: number };
                plan?: string;
              }>;
              count: number;
              isShared: boolean;
              name: string;
            }>;
          };
        },
        { canceled: boolean },
        Name
      >;
      enqueue: FunctionReference<
        "mutation",
        "internal",
        {
          args: Record<string, any>;
          count?: number;
          fairBy?: string;
          fn: string;
          key?: string;
          notAfter?: number;
          onDropped?: string;
          plan?: string;
          priority?: number;
          settles?: "mutation" | "action";
          terms: {
            configs: Array<{
              config:
                | {
                    capacity?: number;
                    kind: "token bucket";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | {
                    anchor?: number;
                    capacity?: number;
                    kind: "fixed window";
                    maxReserved?: number;
                    period: number | "day" | "week" | "month" | "year";
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                    start?: number;
                    timeZone?: string;
                  }
                | {
                    kind: "sliding window";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | { kind: "concurrency"; lease: number; slots: number };
              plan?: string;
            }>;
            name: string;
            queue: {
              aging?: number;
              attempts?: number;
              fair?: boolean;
              maxQueued?: number;
              priorities?: number;
            };
            with?: Array<{
              configs: Array<{
                config:
                  | {
                      capacity?: number;
                      kind: "token bucket";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | {
                      anchor?: number;
                      capacity?: number;
                      kind: "fixed window";
                      maxReserved?: number;
                      period: number | "day" | "week" | "month" | "year";
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                      start?: number;
                      timeZone?: string;
                    }
                  | {
                      kind: "sliding window";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | { kind: "concurrency"; lease: number; slots: number };
                plan?: string;
              }>;
              count: number;
              isShared: boolean;
              name: string;
            }>;
          };
        },
        | { job: { id: string; key?: string; name: string }; ok: true }
        | { ok: false; reason?: "too large"; retryAt: number },
        Name
      >;
      get: FunctionReference<
        "query",
        "internal",
        {
          id: string;
          key?: string;
          name: string;
          terms?: {
            configs: Array<{
              config:
                | {
                    capacity?: number;
                    kind: "token bucket";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | {
                    anchor?: number;
                    capacity?: number;
                    kind: "fixed window";
                    maxReserved?: number;
                    period: number | "day" | "week" | "month" | "year";
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                    start?: number;
                    timeZone?: string;
                  }
                | {
                    kind: "sliding window";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | { kind: "concurrency"; lease: number; slots: number };
              plan?: string;
            }>;
            name: string;
            queue: {
              aging?: number;
              attempts?: number;
              fair?: boolean;
              maxQueued?: number;
              priorities?: number;
            };
            with?: Array<{
              configs: Array<{
                config:
                  | {
                      capacity?: number;
                      kind: "token bucket";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | {
                      anchor?: number;
                      capacity?: number;
                      kind: "fixed window";
                      maxReserved?: number;
                      period: number | "day" | "week" | "month" | "year";
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                      start?: number;
                      timeZone?: string;
                    }
                  | {
                      kind: "sliding window";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | { kind: "concurrency"; lease: number; slots: number };
                plan?: string;
              }>;
              count: number;
              isShared: boolean;
              name: string;
            }>;
          };
        },
        { ahead: number; startsAt?: number } | { startsAt: number } | null,
        Name
      >;
      wake: FunctionReference<
        "mutation",
        "internal",
        {
          key?: string;
          terms: {
            configs: Array<{
              config:
                | {
                    capacity?: number;
                    kind: "token bucket";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | {
                    anchor?: number;
                    capacity?: number;
                    kind: "fixed window";
                    maxReserved?: number;
                    period: number | "day" | "week" | "month" | "year";
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                    start?: number;
                    timeZone?: string;
                  }
                | {
                    kind: "sliding window";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | { kind: "concurrency"; lease: number; slots: number };
              plan?: string;
            }>;
            name: string;
            queue: {
              aging?: number;
              attempts?: number;
              fair?: boolean;
              maxQueued?: number;
              priorities?: number;
            };
            with?: Array<{
              configs: Array<{
                config:
                  | {
                      capacity?: number;
                      kind: "token bucket";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | {
                      anchor?: number;
                      capacity?: number;
                      kind: "fixed window";
                      maxReserved?: number;
                      period: number | "day" | "week" | "month" | "year";
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                      start?: number;
                      timeZone?: string;
                    }
                  | {
                      kind: "sliding window";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | { kind: "concurrency"; lease: number; slots: number };
                plan?: string;
              }>;
              count: number;
              isShared: boolean;
              name: string;
            }>;
          };
        },
        null,
        Name
      >;
    };
    snapshots: {
      get: FunctionReference<
        "query",
        "internal",
        {
          config:
            | {
                capacity?: number;
                kind: "token bucket";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | {
                anchor?: number;
                capacity?: number;
                kind: "fixed window";
                maxReserved?: number;
                period: number | "day" | "week" | "month" | "year";
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
                start?: number;
                timeZone?: string;
              }
            | {
                kind: "sliding window";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | { kind: "concurrency"; lease: number; slots: number };
          key?: string;
          name: string;
          plan?: string | null;
          plans?: Array<{
            config:
              | {
                  capacity?: number;
                  kind: "token bucket";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | {
                  anchor?: number;
                  capacity?: number;
                  kind: "fixed window";
                  maxReserved?: number;
                  period: number | "day" | "week" | "month" | "year";
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                  start?: number;
                  timeZone?: string;
                }
              | {
                  kind: "sliding window";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | { kind: "concurrency"; lease: number; slots: number };
            plan?: string;
          }>;
        },
        {
          capacity: number;
          config:
            | {
                capacity?: number;
                kind: "token bucket";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | {
                anchor?: number;
                capacity?: number;
                kind: "fixed window";
                maxReserved?: number;
                period: number | "day" | "week" | "month" | "year";
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
                start?: number;
                timeZone?: string;
              }
            | {
                kind: "sliding window";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | { kind: "concurrency"; lease: number; slots: number };
          few: number;
          fullAt: number;
          lastStart: number;
          lastsMs: number;
          least: number;
          mode?: "shadow";
          mostReserved: number;
          name: string;
          override?: {
            capacity: number;
            config:
              | {
                  capacity?: number;
                  kind: "token bucket";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | {
                  anchor?: number;
                  capacity?: number;
                  kind: "fixed window";
                  maxReserved?: number;
                  period: number | "day" | "week" | "month" | "year";
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                  start?: number;
                  timeZone?: string;
                }
              | {
                  kind: "sliding window";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | { kind: "concurrency"; lease: number; slots: number };
            few: number;
            fullAt: number;
            lastStart: number;
            lastsMs: number;
            least: number;
            mostReserved: number;
            name: string;
            parts: Array<{
              capacity: number;
              least: number;
              runs: Array<{
                count?: number;
                period: number;
                start: number;
                units: number;
              }>;
              shard?: string;
              ts: number;
              value: number;
            }>;
            pausedUntil: number;
            plan?: string;
            reason?: "blocked";
            restMs: number;
            runs?: Array<{
              count?: number;
              period: number;
              start: number;
              units: number;
            }>;
            tokens: number;
            ts: number;
            unitsPerToken: number;
            unlimited?: true;
            until: number;
            used: number;
            value: number;
            windowsFrom?: number;
          };
          parts: Array<{
            capacity: number;
            least: number;
            runs: Array<{
              count?: number;
              period: number;
              start: number;
              units: number;
            }>;
            shard?: string;
            ts: number;
            value: number;
          }>;
          pausedUntil: number;
          plan?: string;
          reason?: "blocked";
          restMs: number;
          runs?: Array<{
            count?: number;
            period: number;
            start: number;
            units: number;
          }>;
          tokens: number;
          ts: number;
          unitsPerToken: number;
          unlimited?: true;
          until?: number;
          used: number;
          value: number;
          windowsFrom?: number;
        },
        Name
      >;
      list: FunctionReference<
        "query",
        "internal",
        {
          config:
            | {
                capacity?: number;
                kind: "token bucket";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | {
                anchor?: number;
                capacity?: number;
                kind: "fixed window";
                maxReserved?: number;
                period: number | "day" | "week" | "month" | "year";
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
                start?: number;
                timeZone?: string;
              }
            | {
                kind: "sliding window";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | { kind: "concurrency"; lease: number; slots: number };
          cursor?: string;
          limit?: number;
          name: string;
          onlyLimited?: boolean;
          onlyOverridden?: boolean;
          plans?: Array<{
            config:
              | {
                  capacity?: number;
                  kind: "token bucket";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | {
                  anchor?: number;
                  capacity?: number;
                  kind: "fixed window";
                  maxReserved?: number;
                  period: number | "day" | "week" | "month" | "year";
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                  start?: number;
                  timeZone?: string;
                }
              | {
                  kind: "sliding window";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | { kind: "concurrency"; lease: number; slots: number };
            plan?: string;
          }>;
        },
        {
          cursor: string | null;
          page: Array<{
            error?: string;
            key?: string;
            ok: boolean;
            override?: {
              block?: true;
              config?:
                | {
                    capacity?: number;
                    kind: "token bucket";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | {
                    anchor?: number;
                    capacity?: number;
                    kind: "fixed window";
                    maxReserved?: number;
                    period: number | "day" | "week" | "month" | "year";
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                    start?: number;
                    timeZone?: string;
                  }
                | {
                    kind: "sliding window";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | { kind: "concurrency"; lease: number; slots: number };
              more?: number;
              note?: string;
              unlimited?: true;
              until?: number;
            };
            pausedUntil?: number;
            plan?: string;
            reason?: "blocked" | "too large";
            remaining?: number;
            resetAt?: number;
            retryAt?: number;
            value: number;
          }>;
        },
        Name
      >;
    };
    sweep: {
      sweep: FunctionReference<
        "mutation",
        "internal",
        {
          cursor?: string;
          queues?: Array<{
            configs: Array<{
              config:
                | {
                    capacity?: number;
                    kind: "token bucket";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | {
                    anchor?: number;
                    capacity?: number;
                    kind: "fixed window";
                    maxReserved?: number;
                    period: number | "day" | "week" | "month" | "year";
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                    start?: number;
                    timeZone?: string;
                  }
                | {
                    kind: "sliding window";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | { kind: "concurrency"; lease: number; slots: number };
              plan?: string;
            }>;
            name: string;
            queue: {
              aging?: number;
              attempts?: number;
              fair?: boolean;
              maxQueued?: number;
              priorities?: number;
            };
            with?: Array<{
              configs: Array<{
                config:
                  | {
                      capacity?: number;
                      kind: "token bucket";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | {
                      anchor?: number;
                      capacity?: number;
                      kind: "fixed window";
                      maxReserved?: number;
                      period: number | "day" | "week" | "month" | "year";
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                      start?: number;
                      timeZone?: string;
                    }
                  | {
                      kind: "sliding window";
                      maxReserved?: number;
                      period: number;
                      rate: number;
                      shards?:
                        number | "auto" | { atLeast?: number; atMost?: number };
                    }
                  | { kind: "concurrency"; lease: number; slots: number };
                plan?: string;
              }>;
              count: number;
              isShared: boolean;
              name: string;
            }>;
          }>;
          targets: Array<{
            configs: Array<
              | {
                  capacity?: number;
                  kind: "token bucket";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | {
                  anchor?: number;
                  capacity?: number;
                  kind: "fixed window";
                  maxReserved?: number;
                  period: number | "day" | "week" | "month" | "year";
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                  start?: number;
                  timeZone?: string;
                }
              | {
                  kind: "sliding window";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | { kind: "concurrency"; lease: number; slots: number }
            >;
            name: string;
          }>;
        },
        { deleted: number; isDone: boolean },
        Name
      >;
    };
    upkeep: {
      adjust: FunctionReference<
        "mutation",
        "internal",
        {
          adjustments: Array<{
            at?: number;
            config:
              | {
                  capacity?: number;
                  kind: "token bucket";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | {
                  anchor?: number;
                  capacity?: number;
                  kind: "fixed window";
                  maxReserved?: number;
                  period: number | "day" | "week" | "month" | "year";
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                  start?: number;
                  timeZone?: string;
                }
              | {
                  kind: "sliding window";
                  maxReserved?: number;
                  period: number;
                  rate: number;
                  shards?:
                    number | "auto" | { atLeast?: number; atMost?: number };
                }
              | { kind: "concurrency"; lease: number; slots: number };
            count: number;
            describes?: boolean;
            key?: string;
            name: string;
            plan?: string | null;
            plans?: Array<{
              config:
                | {
                    capacity?: number;
                    kind: "token bucket";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | {
                    anchor?: number;
                    capacity?: number;
                    kind: "fixed window";
                    maxReserved?: number;
                    period: number | "day" | "week" | "month" | "year";
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                    start?: number;
                    timeZone?: string;
                  }
                | {
                    kind: "sliding window";
                    maxReserved?: number;
                    period: number;
                    rate: number;
                    shards?:
                      number | "auto" | { atLeast?: number; atMost?: number };
                  }
                | { kind: "concurrency"; lease: number; slots: number };
              plan?: string;
            }>;
            row?: string;
            takenAt?: number;
          }>;
        },
        Array<
          | {
              lease?: {
                key?: string;
                name: string;
                seen?: number;
                takenAt: number;
                until: number;
              };
              ok: true;
              policy?: { tokens: number; unlimited?: true; windowMs: number };
              remaining?: number;
              resetAt?: number;
              retryAt?: number;
              row?: string;
              shadow?:
                | {
                    lease?: {
                      key?: string;
                      name: string;
                      seen?: number;
                      takenAt: number;
                      until: number;
                    };
                    ok: true;
                    policy?: {
                      tokens: number;
                      unlimited?: true;
                      windowMs: number;
                    };
                    remaining?: number;
                    resetAt?: number;
                    retryAt?: number;
                    row?: string;
                    takenAt?: number;
                  }
                | {
                    ok: false;
                    policy?: {
                      tokens: number;
                      unlimited?: true;
                      windowMs: number;
                    };
                    reason?: "blocked" | "too large";
                    remaining?: number;
                    resetAt?: number;
                    retryAt: number;
                  };
              takenAt?: number;
            }
          | {
              ok: false;
              policy?: { tokens: number; unlimited?: true; windowMs: number };
              reason?: "blocked" | "too large";
              remaining?: number;
              resetAt?: number;
              retryAt: number;
            }
        >,
        Name
      >;
      clearOverride: FunctionReference<
        "mutation",
        "internal",
        { key?: string; name: string },
        null,
        Name
      >;
      override: FunctionReference<
        "mutation",
        "internal",
        {
          block?: true;
          config?:
            | {
                capacity?: number;
                kind: "token bucket";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | {
                anchor?: number;
                capacity?: number;
                kind: "fixed window";
                maxReserved?: number;
                period: number | "day" | "week" | "month" | "year";
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
                start?: number;
                timeZone?: string;
              }
            | {
                kind: "sliding window";
                maxReserved?: number;
                period: number;
                rate: number;
                shards?:
                  number | "auto" | { atLeast?: number; atMost?: number };
              }
            | { kind: "concurrency"; lease: number; slots: number };
          key?: string;
          more?: number;
          name: string;
          note?: string;
          unlimited?: true;
          until?: number;
        },
        null,
        Name
      >;
      pause: FunctionReference<
        "mutation",
        "internal",
        { key?: string; name: string; until: number },
        null,
        Name
      >;
      release: FunctionReference<
        "mutation",
        "internal",
        {
          key?: string;
          name: string;
          seen?: number;
          takenAt: number;
          until: number;
        },
        null,
        Name
      >;
      reset: FunctionReference<
        "mutation",
        "internal",
        { key?: string; name: string },
        null,
        Name
      >;
    };
  };
