import { projectRateLimit } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { denialOf } from "../support/errors.js";
import { openTown, useClock } from "./backend.js";

useClock();

it("a user can send three messages a day, and three more when the next day begins", async () => {
  const { t, ada: user } = await openTown();
  const send = (text: string) => t.mutation(api.feedback.send, { user, text });
  for (const text of ["1", "2", "3"]) await send(text);
  const { name, retryAt } = await denialOf(send("4"));
  expect(name).toBe("sendFeedback");
  vi.setSystemTime(retryAt - 1);
  expect(await denialOf(send("4"))).toMatchObject({ retryAt });
  vi.setSystemTime(retryAt);
  for (const text of ["4", "5", "6"]) await send(text);
  expect(projectRateLimit(await t.query(api.feedback.quota, { user }), { now: Date.now() })).toMatchObject({
    ok: false,
    remaining: 0,
  });
});
