import { HOUR, projectRateLimit } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { openBackend, START, useClock } from "./backend.js";

useClock();

function openDoor() {
  const t = openBackend();
  let visitors = 0;
  const signUp = (email = `user${++visitors}@example.com`) =>
    t.mutation(api.signUps.signUp, { email, password: "secret" });
  /** Signs up until refused: how many were let in, and when the next one may come. */
  const fill = async () => {
    for (let welcomed = 0; ; welcomed++) {
      const result = await signUp();
      if (!result.ok) return { welcomed, retryAt: result.retryAt };
    }
  };
  return { t, signUp, fill };
}

it("a hundred users sign up in an hour, and nobody else before the next hour begins, whoever leaves", async () => {
  const { t, fill, signUp } = openDoor();
  const ada = await signUp("ada@example.com");
  if (!ada.ok) throw new Error("Ada was refused.");
  const { welcomed, retryAt } = await fill();
  expect(welcomed).toBe(99);
  expect(retryAt).toBeGreaterThan(START);
  expect(retryAt).toBeLessThanOrEqual(START + HOUR);
  await t.mutation(api.signUps.close, { user: ada.user });
  vi.setSystemTime(retryAt - 1);
  expect(await signUp()).toEqual({ ok: false, retryAt });
  vi.setSystemTime(retryAt);
  expect(await fill()).toEqual({ welcomed: 100, retryAt: retryAt + HOUR });
});

it("an address that is taken costs no sign-up", async () => {
  const { t, signUp } = openDoor();
  await signUp("ada@example.com");
  const before = await t.query(api.signUps.quota, {});
  expect(projectRateLimit(before, { now: START, count: 0 }).remaining).toBe(99);
  await expect(signUp("ada@example.com")).rejects.toMatchObject({ data: { kind: "EmailTaken" } });
  expect(await t.query(api.signUps.quota, {})).toEqual(before);
});
