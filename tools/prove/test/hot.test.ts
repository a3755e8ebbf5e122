/** How the checks of a hot key judge, on a server that the test plays. */
import { getFunctionName, type FunctionReference } from "convex/server";
import { afterEach, expect, it, vi } from "vitest";
import { api } from "../../../stage/convex/_generated/api.js";
import { OPERATIONS as ALL } from "../../../stage/convex/prove/operations.js";
import { openBackend } from "../../../test/stage/backend.js";
import type { Prover } from "../check.js";
import { effortOf } from "../checks.js";
import { hot } from "../hot.js";

type Answer = (name: string, args: { operation?: string; isCharge?: boolean }, n: number) => unknown;

/** @param answer - the server's answer to its n-th call; undefined fails the call. */
function prove(name: string, answer: Answer, load = { perSecond: 1e6, seconds: 4e-4 }) {
  let n = 0;
  const call = async (fn: FunctionReference<"mutation">, args: object) => {
    const found = await Promise.resolve(answer(getFunctionName(fn).split(":")[1] ?? "", args, n++));
    if (found === undefined) throw new Error("OptimisticConcurrencyControlFailure");
    return found;
  };
  const http = { mutation: call, query: call };
  const socket = { mutation: call, close: () => Promise.resolve() };
  const effort = { ...effortOf("short", "S16"), hot: { clients: 2, ...load } };
  const open = () => ({ sockets: [socket], https: [http] });
  const prover = {
    effort,
    open,
    http,
    signal: new AbortController().signal,
    secret: "",
    key: () => "key",
  } as unknown as Prover;
  const check = hot.find((one) => one.name === name);
  if (!check) throw new Error(`There is no check ${name}.`);
  return check.run(prover);
}

afterEach(() => {
  vi.unstubAllEnvs();
});

it.each(ALL)("the operation runs: %s", async (operation) => {
  const secret = "a secret of sixteen characters";
  vi.stubEnv("PROVE_SECRET", secret);
  expect(await openBackend().mutation(api.prove.hot.operate, { secret, key: "key", operation })).toBeNull();
});

const OPERATIONS = "Every operation beside plain calls";

it("every operation is played, and those that fail are named", async () => {
  const { holds, figures } = await prove(OPERATIONS, (_name, { operation }) =>
    operation === "reset" ? undefined : { ok: true },
  );
  expect(holds).toBe(false);
  const failing = Object.entries(figures ?? {}).filter(([, figure]) => !String(figure).includes(" 0 failed"));
  expect(failing).toEqual([["reset", "3 calls, 3 failed, p99 0 ms"]]);
  expect(await prove(OPERATIONS, () => ({ ok: true }))).toMatchObject({ holds: true });
});

it("a failed plain call fails the check", async () => {
  expect(await prove(OPERATIONS, (_name, _args, n) => (n === 7 ? undefined : {}))).toMatchObject({ holds: false });
});

/** At this load the calls come one by one, so that a pause has an answer before the next one. */
const SLOW = { perSecond: 500, seconds: 0.2 };
const UNTIL = 1000;

it.each([
  ["lets a call through in a pause", true, true, false],
  ["starts nothing after a pause", false, false, false],
  ["obeys a pause", false, true, true],
])("a server that %s", async (_what, isEarly, isLate, holds) => {
  let isPaused = false;
  const serve: Answer = (name, _args, n) => {
    if (name === "pause") {
      isPaused = true;
      return UNTIL;
    }
    // The last quarter of the calls comes when the pause is over.
    const isOver = n > 75;
    return { ok: isPaused ? (isOver ? isLate : isEarly) : true, at: isOver ? UNTIL : 0 };
  };
  expect((await prove("A pause under load", serve, SLOW)).holds).toBe(holds);
});

it.each([
  [0, true],
  [-3, false],
  [1, false],
])("a bucket in which %d tokens too many are gone", async (more, holds) => {
  let taken = 0;
  const judged = await prove("Charges under load", (name, { isCharge }) => {
    if (name === "spent") return taken + more;
    taken += isCharge ? 3 : 1;
    return isCharge ? 3 : 1;
  });
  expect(judged.holds).toBe(holds);
});
