/** The proof kit itself: which callers it admits, and how it and the demo judge. `.ci/run` runs the kit on the embedded backend. */
import { ConvexError } from "convex/values";
import fc from "fast-check";
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, assert, describe, expect, it, vi } from "vitest";
import { api } from "../../../stage/convex/_generated/api.js";
import { overdraft } from "../../../stage/demo/laws.js";
import type { Check } from "../check.js";
import { checksOf, effortOf, MOST_SECONDS, plannedSeconds } from "../checks.js";
import { overGrant } from "../contention.js";
import { judge } from "../judge.js";
import { markdownOf, verdictOf } from "../report.js";
import { deploymentIn, explain } from "../target.js";
import { thrownBy } from "../../../test/support/errors.js";
import { openBackend } from "../../../test/stage/backend.js";
import { forAny } from "../../../test/support/random.js";

const modules = import.meta.glob<Record<string, unknown>>("../../../stage/convex/prove/*.ts", { eager: true });
const SECRET = "a secret of sixteen characters";

/** The handlers of all functions of the folder that a client can call, except the one that only returns the time. */
type Handler = (ctx: object, args: object) => Promise<unknown>;
const functions = Object.entries(modules).flatMap(([file, module]) =>
  Object.entries(module).flatMap(([name, value]) => {
    if (typeof value !== "function" || !("isPublic" in value) || name === "getServerTime") return [];
    const { _handler: run } = value as unknown as { _handler: Handler };
    return [{ path: `${path.basename(file, ".ts")}:${name}`, run }];
  }),
);

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the functions", () => {
  it("are all found", () => {
    expect(functions.length).toBeGreaterThan(18);
  });

  it.each(functions)("$path runs only for callers that know the deployment's secret", async ({ run }) => {
    const given = "a wrong secret, and a key";
    for (const secret of ["", given.slice(0, 15), SECRET]) {
      vi.stubEnv("PROVE_SECRET", secret);
      // The key of live:getRateLimit contains the secret.
      const error = await thrownBy(openBackend().run(async (ctx) => await run(ctx, { secret: given, key: given })));
      assert(error instanceof ConvexError, String(error));
      expect(error.data).toMatchObject({ kind: "NotProving" });
    }
  });

  it("return the next three days, weeks and months of a time zone", async () => {
    vi.stubEnv("PROVE_SECRET", SECRET);
    const names = ["UTC", "Europe/Berlin", "Nowhere/Never"];
    // This is two days before the clocks of Berlin go forward.
    const args = { secret: SECRET, names, from: Date.UTC(2026, 2, 27, 12) };
    const found = await openBackend().query(api.prove.facts.zones, args);
    const times = found.map((starts) => starts?.map((at) => new Date(at).toISOString().slice(5, 16)).join(" "));
    expect(times).toEqual([
      "03-28T00:00 03-29T00:00 03-30T00:00 03-30T00:00 04-06T00:00 04-13T00:00 04-01T00:00 05-01T00:00 06-01T00:00",
      "03-27T23:00 03-28T23:00 03-29T22:00 03-29T22:00 04-05T22:00 04-12T22:00 03-31T22:00 04-30T22:00 05-31T22:00",
      undefined,
    ]);
  });

  it.each(["echo", "limited?run=a", "stream"])("HTTP: /prove/%s does not exist without the secret", async (route) => {
    vi.stubEnv("PROVE_SECRET", SECRET);
    const t = openBackend();
    expect((await t.fetch(`/prove/${route}`)).status).toBe(404);
    expect((await t.fetch(`/prove/${route}`, { headers: { "X-Prove-Secret": SECRET } })).status).not.toBe(404);
  });
});

const check: Check = {
  subject: "A subject",
  name: "A name",
  expected: "a | b",
  calls: () => 1,
  run: () => Promise.resolve({ seen: "nothing", holds: true }),
};

it("the verdict is never passed on the embedded backend for a check that it cannot show", () => {
  const impossible = { ...check, notEmbedded: "it is one process" };
  const verdicts = (of: Check, isEmbedded: boolean) => [true, false].map((holds) => verdictOf(of, isEmbedded, holds));
  expect(verdicts(impossible, true)).toEqual(["not applicable here", "not applicable here"]);
  expect(verdicts(impossible, false)).toEqual(["passed", "failed"]);
  expect(verdicts(check, true)).toEqual(["passed", "failed"]);
});

it("the verdict is in the report, with the expected and the observed result", () => {
  const run = { date: "2026-11-23T00:00:00.000Z", target: "S16", effort: "full", versions: "one 1.0.0" } as const;
  const text = markdownOf({ ...run, calls: 1, seconds: 2, results: [{ check, seen: "c", verdict: "passed" }] });
  expect(text).toContain("1 passed, 0 failed, 0 not applicable here.");
  expect(text).toContain("| A name | a \\| b | c | passed |");
});

it("over-grant is the excess of the worst interval", () => {
  const at = (time: number) => ({ ok: true, before: time, after: time });
  const bound = { rate: 10, capacity: 2 };
  forAny([fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 12 })], 100, (unsorted) => {
    const times = unsorted.toSorted((a, b) => a - b);
    const excess = times.flatMap((from, i) =>
      times.slice(i).map((to, more) => more + 1 - bound.capacity - (bound.rate * (to - from)) / 1000),
    );
    expect(overGrant(unsorted.map(at), bound)).toBe(Math.max(0, Math.ceil(Math.max(0, ...excess) - 1e-9)));
  });
});

describe("the deployment", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "prove-"));
  const local = path.join(folder, ".env.local");
  const URL = "https://happy-animal-123.convex.cloud";

  it("is the deployment of .env.local, unless the environment names another", () => {
    writeFileSync(local, `# by convex dev\nCONVEX_URL=${URL}\nPROVE_SECRET=${SECRET}\n`);
    const siteUrl = "https://happy-animal-123.convex.site";
    expect(deploymentIn({}, local)).toMatchObject({ url: URL, siteUrl, secret: SECRET });
    const own = { url: "http://127.0.0.1:3210", siteUrl: "http://127.0.0.1:3211" };
    expect(deploymentIn({ CONVEX_URL: own.url, CONVEX_SITE_URL: own.siteUrl }, local)).toMatchObject(own);
  });

  it.each([
    ["no address", {}, "There is no CONVEX_URL"],
    ["a wrong address", { CONVEX_URL: "happy animal" }, "must be the address of a deployment, got happy animal"],
    ["no secret", { CONVEX_URL: URL }, "npx convex env set PROVE_SECRET"],
  ])("is refused with %s, before anything is called", (_, environment, message) => {
    expect(() => deploymentIn(environment, path.join(folder, "none"))).toThrow(message);
  });
});

describe("a deployment that no check can run on", () => {
  const url = "http://127.0.0.1:9";

  it("is explained in one sentence, without a stack trace, and the run fails", () => {
    const root = path.resolve(import.meta.dirname, "../../..");
    const command = [path.join(root, "node_modules/tsx/dist/cli.mjs"), "tools/prove/main.ts"];
    const env = { ...process.env, CONVEX_URL: url, PROVE_SECRET: SECRET };
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, env, encoding: "utf8" });
    expect(stderr).toBe(`No deployment answers at ${url}: is it running, and is CONVEX_URL right?\n`);
    expect(stdout).toBe("");
    expect(status).toBe(1);
  });

  it.each([
    [new ConvexError({ kind: "NotProving", message: "Set PROVE_SECRET." }), "Set PROVE_SECRET."],
    [
      new Error("[CONVEX M(x)] Could not find public function\n"),
      "does not have the functions of stage/convex: run `npx",
    ],
    [new Error("<html>\n  at once"), `The deployment at ${url} refuses the first call: Error: <html>`],
  ])("%s", (error, sentence) => {
    expect(explain(error, url)).toContain(sentence);
    expect(explain(error, url)).not.toContain("\n");
  });
});

it.each(["S16", "S256"] as const)("a whole run on %s ends in ten minutes", (platform) => {
  const effort = effortOf("full", platform);
  expect(plannedSeconds(checksOf(effort), effort)).toBeLessThanOrEqual(MOST_SECONDS);
});

it("a check that is not over in its time has failed, and so has one that throws", async () => {
  const verdictFor = async (run: Check["run"], isEmbedded = false) =>
    await judge({ ...check, seconds: () => 0, run }, { effort: effortOf("short", "S16") } as never, isEmbedded);
  const late = await verdictFor(() => new Promise(() => undefined));
  expect(late).toMatchObject({ seen: "is not over after 0 s", verdict: "failed" });
  const broken = await verdictFor(() => Promise.reject(new Error("broken")), true);
  expect(broken).toMatchObject({ seen: "Error: broken", verdict: "failed" });
});

/** 2 tokens at once, 1 a second. */
const LIMIT = { rate: 1, period: 1000, capacity: 2 };

it.each([
  ["accepts a burst followed by the rate", [0, 0, 1000, 2000], 1, undefined],
  ["rejects a start that is a millisecond early", [0, 0, 999], 1, { from: 0, to: 999, tokens: 3, most: 2.999 }],
  ["checks every interval", [0, 1e5, 100_001, 100_002], 1, { from: 1e5, to: 100_002, tokens: 3, most: 2.002 }],
  ["counts tokens, not starts", [0], 3, { from: 0, to: 0, tokens: 3, most: 2 }],
])("the demo's bound %s", (_, times, tokens, found) => {
  const starts = times.map((time) => ({ earliest: time, latest: time, tokens }));
  expect(overdraft(starts, LIMIT)).toEqual(found);
});
