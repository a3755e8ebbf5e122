/** The official component's tests that do not pass here, and why. docs/migrating.md says the same to users. */

/** Files that are not run. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  "component/internal.test.ts": "calls private functions with rows that the test has made",
  "component/worker.test.ts": "calls the worker of asynchronous updates, which are exact here and need none",
  "client/setup.test.ts": "opens the backend of the other tests, and tests nothing itself",
  "component/setup.test.ts": "opens the backend of the other tests, and tests nothing itself",
};

interface Difference {
  readonly why: string;
  /** What the failure says, so that no other failure counts as this difference. */
  readonly says: string;
  readonly tests: readonly string[];
}

const byKind = (name: string) => ["token bucket", "fixed window"].map((kind) => `rateLimit ${kind} ${name}`);

export const DIFFERENCES: readonly Difference[] = [
  {
    why: "asynchronous updates are exact: nothing waits to be written",
    says: "expected +0 to be 3",
    tests: ["asynchronous limit and reset queue their writes instead of applying them"],
  },
  {
    why: "asynchronous updates are exact: the fourth of three is denied, so nothing is overdrawn",
    says: "expected 0 to be less than 0",
    tests: ["asynchronous rejected asynchronous calls consume nothing"],
  },
  {
    why: "asynchronous updates are exact, so any call may apply them",
    says: "instead of rejecting",
    tests: ["asynchronous configs can't be applied by rateLimit"],
  },
  {
    why: "the component's functions are not the official ones: the class has no call that queues updates",
    says: "Expected a Convex function exported f",
    tests: ["asynchronous configs can't be queued when updates are applied transactionally"],
  },
  {
    why: "an error about an impossible count has another text",
    says: 'but got \'Rate limit "simple": count ',
    tests: [...byKind("consume too much"), ...byKind("consume too much reserved")],
  },
  {
    why: "a window without a start begins at a hashed time, not with the first call, whose time the row has",
    says: "to be 60000",
    tests: [
      "rateLimit fixed window retryAfter is accurate",
      "rateLimit fixed window retryAfter for reserved is accurate",
    ],
  },
  {
    why: "the hook shows also what remains, so it has timers, which the test plays until the bucket is full",
    says: "expected undefined to be defined",
    tests: ["useRateLimit handles clock skew correctly"],
  },
];
