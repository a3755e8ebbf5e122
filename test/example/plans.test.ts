import { DAY, projectRateLimit } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { openTown, START, useClock } from "./backend.js";

useClock();

const deniedFor = (ms: number) => ({ ok: false, retryAt: START + ms });

async function openOffice() {
  const { t, ada: user } = await openTown();
  const make = () => t.mutation(api.plans.makeReport, { user, title: "Sales" });
  const makeMany = async (reports: number) => {
    for (let i = 0; i < reports; i++) expect(await make()).toMatchObject({ ok: true });
  };
  const change = (plan: "free" | "pro") => t.mutation(api.plans.changePlan, { user, plan });
  return { t, user, make, makeMany, change };
}

it("the free plan makes three reports, and the next one eight hours later", async () => {
  const { make } = await openOffice();
  expect([await make(), await make(), await make()]).toEqual([2, 1, 0].map((left) => ({ ok: true, left })));
  expect(await make()).toEqual(deniedFor(DAY / 3));
  vi.setSystemTime(START + DAY / 3);
  expect(await make()).toEqual({ ok: true, left: 0 });
});

it("the pro plan makes more; a downgrade counts at once: what is left is cut to the smaller plan", async () => {
  const { make, makeMany, change } = await openOffice();
  await change("pro");
  await makeMany(50);
  await change("free");
  await makeMany(3);
  expect(await make()).toEqual(deniedFor(DAY / 3));
});

it("an upgrade counts from now on and grants nothing for the past", async () => {
  const { t, user, make, makeMany, change } = await openOffice();
  await makeMany(3);
  await change("pro");
  expect(await make()).toEqual(deniedFor(DAY / 100));
  const quota = await t.query(api.plans.quota, { user });
  expect(projectRateLimit(quota, { now: START + DAY, count: 0 }).remaining).toBe(100);
});

it("a report for a closed account is an error, and not a bucket", async () => {
  const { t, user, make } = await openOffice();
  await t.mutation(api.signUps.close, { user });
  await expect(make()).rejects.toMatchObject({ data: { kind: "NoSuchUser", user } });
});
