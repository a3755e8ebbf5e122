import { DAY } from "convex-rate-limits";
import { expect, it } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { openTown, START, useClock } from "./backend.js";

useClock();

async function openOffice() {
  const { t, ada: user } = await openTown();
  const make = () => t.mutation(api.plans.makeReport, { user, title: "Sales" });
  const makeMany = async (reports: number) => {
    for (let i = 0; i < reports; i++) expect(await make()).toMatchObject({ ok: true });
  };
  const change = (plan: "free" | "pro") => t.mutation(api.plans.changePlan, { user, plan });
  return { t, user, make, makeMany, change };
}

it("the pro plan allows more; a downgrade takes effect at once and cuts the tokens left to the smaller plan", async () => {
  const { make, makeMany, change } = await openOffice();
  await change("pro");
  await makeMany(50);
  await change("free");
  await makeMany(3);
  expect(await make()).toEqual({ ok: false, retryAt: START + DAY / 3 });
});

it("a report for a closed account is an error, and creates no bucket", async () => {
  const { t, user, make } = await openOffice();
  await t.mutation(api.signUps.close, { user });
  await expect(make()).rejects.toMatchObject({ data: { kind: "NoSuchUser", user } });
});
