import { DAY, MINUTE, SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { emailOf, PASSWORD } from "../../example/demo/people.js";
import { openTown, useClock } from "./backend.js";

useClock();

async function openGate() {
  const { t, ada } = await openTown();
  const email = emailOf("Ada");
  const signIn = (password: string) => t.mutation(api.lockouts.signIn, { email, password });
  /** Fails `times` times, each as soon as it is allowed, and returns the durations of the locks in ms. */
  const fail = async (times = 1) => {
    const locks = [];
    for (let i = 0; i < times; i++) {
      const answer = await signIn("guess");
      if (answer.outcome !== "wrong") throw new Error(`The password was not checked: ${answer.outcome}.`);
      locks.push(answer.lockedUntil - Date.now());
      vi.setSystemTime(answer.lockedUntil);
    }
    return locks;
  };
  return { signIn, fail, welcome: { outcome: "welcome", user: ada } };
}

it("each failure locks for longer, up to ten minutes; a success or a day without a failure starts anew", async () => {
  const { signIn, fail, welcome } = await openGate();
  expect(await fail(6)).toEqual([SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE]);
  expect(await signIn(PASSWORD)).toEqual(welcome);
  expect(await fail(2)).toEqual([SECOND, 10 * SECOND]);
  vi.setSystemTime(Date.now() + DAY);
  expect(await fail()).toEqual([SECOND]);
});
