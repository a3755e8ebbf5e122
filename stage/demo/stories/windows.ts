import { HOUR, SECOND } from "convex-rate-limits";
import { api } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { until } from "../clock.js";
import { tally } from "../laws.js";
import { emailOf, PASSWORD } from "../people.js";
import { check, count, heading, since, table, wait } from "../report.js";

/** The sign-ups of two windows: if the hour ends during the story, the second window still fills up. */
const SIGN_UPS = 200;
const PLACES = 15;
/** Several times as long as the two windows that the places need. */
const TIMEOUT_MS = 10_000;

export async function signUps(backend: Backend): Promise<void> {
  heading("A fixed window for everybody", "signUp: 100 in each hour, for the whole app");
  const welcomed: number[] = [];
  let retryAt: number | undefined;
  while (retryAt === undefined && welcomed.length <= SIGN_UPS) {
    const email = emailOf(`user${welcomed.length + 1}`);
    const result = await backend.mutation(api.signUps.signUp, { email, password: PASSWORD });
    if (result.ok) welcomed.push(Date.now());
    else retryAt = result.retryAt;
  }

  const inWindow = welcomed.filter((at) => retryAt !== undefined && at >= retryAt - HOUR).length;
  table([
    ["sign-ups", "result"],
    [count(welcomed.length), "welcome"],
    ["1", retryAt === undefined ? "welcome" : `denied, the next window opens in ${wait(retryAt - Date.now())}`],
  ]);
  check("exactly 100 were allowed in this window", inWindow === 100, { inWindow, retryAt });
}

export async function thirdParty(backend: Backend): Promise<void> {
  heading("A third party's windows", "geocoder: 10 in each second of the clock, as the provider counts");
  const start = Date.now();
  for (let place = 1; place <= PLACES; place++) {
    await backend.mutation(api.thirdParty.add, { address: `${place} Mill Lane` });
  }
  const places = () => backend.query(api.thirdParty.places, {});
  await until(async () => (await places()).every((place) => place.found !== undefined), TIMEOUT_MS);
  const windows = tally((await places()).flatMap(({ found }) => (found ? [found.quotaResetAt] : [])));
  const ordered = [...windows].sort(([a], [b]) => a - b);

  table([["window ends", "calls"], ...ordered.map(([resetAt, calls]) => [since(start, resetAt), count(calls)])]);
  const calls = ordered.reduce((sum, [, each]) => sum + each, 0);
  check("every address was looked up, also those that had to wait for the next window", calls === PLACES, ordered);
  check(
    "no window had more than 10 calls",
    ordered.every(([, each]) => each <= 10),
    ordered,
  );
  check(
    "the windows are the same as the provider's: they end when the clock's seconds end",
    ordered.every(([resetAt]) => resetAt % SECOND === 0),
    ordered,
  );
}
