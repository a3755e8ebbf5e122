import { DAY, MINUTE, SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api, internal } from "../../example/convex/_generated/api.js";
import { emailOf, PASSWORD, signUp } from "../../example/demo/people.js";
import { openBackend, START, useClock } from "./backend.js";

useClock();

async function openGate() {
  const t = openBackend();
  const ada = await signUp(t, "Ada");
  const signIn = (password: string) => t.mutation(api.lockouts.signIn, { email: emailOf("Ada"), password });
  /** Fails as soon as it may, and says how long the lock is. */
  const fail = async () => {
    const answer = await signIn("guess");
    if (answer.outcome !== "wrong") throw new Error(`not looked at: ${answer.outcome}`);
    const lockMs = answer.lockedUntil - Date.now();
    vi.setSystemTime(answer.lockedUntil);
    return lockMs;
  };
  return { t, ada, signIn, fail };
}

it("each failure locks for longer, up to ten minutes", async () => {
  const { fail } = await openGate();
  const locks = [];
  for (let i = 0; i < 6; i++) locks.push(await fail());
  expect(locks).toEqual([SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE]);
});

it("a lock holds against the right password until its end, and asking neither shortens nor extends it", async () => {
  const { ada, signIn } = await openGate();
  await signIn("guess");
  for (const ms of [0, 500, 999]) {
    vi.setSystemTime(START + ms);
    expect(await signIn(PASSWORD)).toEqual({ outcome: "locked", lockedUntil: START + SECOND });
  }
  vi.setSystemTime(START + SECOND);
  expect(await signIn(PASSWORD)).toEqual({ outcome: "welcome", user: ada });
});

it("guesses at once get one look", async () => {
  const { signIn } = await openGate();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => signIn(`guess ${i}`)));
  expect(answers.filter(({ outcome }) => outcome === "wrong")).toHaveLength(1);
});

it("a success, and a day without a failure, forget the failures", async () => {
  const { signIn, fail } = await openGate();
  await fail();
  await fail();
  expect(await signIn(PASSWORD)).toMatchObject({ outcome: "welcome" });
  expect(await fail()).toBe(SECOND);
  expect(await fail()).toBe(10 * SECOND);
  vi.setSystemTime(Date.now() + DAY);
  expect(await fail()).toBe(SECOND);
});

it("the support desk unlocks", async () => {
  const { t, signIn, fail } = await openGate();
  await fail();
  await signIn("guess");
  await t.mutation(internal.lockouts.unlock, { email: emailOf("Ada") });
  expect(await fail()).toBe(SECOND);
});
