import { DAY } from "convex-rate-limits";
import type { FunctionReturnType } from "convex/server";
import { api } from "../../convex/_generated/api.js";
import type { Id } from "../../convex/_generated/dataModel.js";
import type { Backend } from "../backend.js";
import { signUp } from "../people.js";
import { check, heading, table, wait } from "../report.js";

/** More reports than the free plan has in a day, and fewer than the pro plan has. */
const REPORTS = 5;

type Result = FunctionReturnType<typeof api.plans.makeReport>;

export async function plans(backend: Backend): Promise<void> {
  heading("Plans", "report: 3 a day on the free plan, 100 a day on the pro plan");
  const [ada, bob] = [await signUp(backend, "Ada"), await signUp(backend, "Bob")];
  await backend.mutation(api.plans.changePlan, { user: bob, plan: "pro" });

  const make = (user: Id<"users">): Promise<Result> => backend.mutation(api.plans.makeReport, { user, title: "Sales" });
  const onFree: Result[] = [];
  const onPro: Result[] = [];
  for (let report = 0; report < REPORTS; report++) {
    onFree.push(await make(ada));
    onPro.push(await make(bob));
  }
  await backend.mutation(api.plans.changePlan, { user: ada, plan: "pro" });
  const upgradedAt = Date.now();
  const upgraded = await make(ada);

  const made = (results: Result[]) => results.filter((result) => result.ok).length;
  const waitOf = (result: Result | undefined) => (result?.ok === false ? wait(result.retryAt - upgradedAt) : "none");
  table([
    ["user", "plan", "asked", "made", "wait for the next"],
    ["Ada", "free", String(REPORTS), String(made(onFree)), waitOf(onFree.at(-1))],
    ["Bob", "pro", String(REPORTS), String(made(onPro)), waitOf(onPro.at(-1))],
    ["Ada", "pro, just now", "1", upgraded.ok ? "1" : "0", waitOf(upgraded)],
  ]);

  check("three reports on the free plan", made(onFree) === 3, onFree);
  check("all five reports on the pro plan", made(onPro) === REPORTS, onPro);
  const free = onFree.at(-1);
  check(
    "an upgrade applies at once: the wait is that of the pro plan, at most a hundredth of a day, and no longer eight hours",
    !upgraded.ok && free?.ok === false && upgraded.retryAt <= upgradedAt + DAY / 100 && upgraded.retryAt < free.retryAt,
    { upgraded, upgradedAt, free },
  );
  check("but an upgrade grants nothing for the past", !upgraded.ok, upgraded);
}
