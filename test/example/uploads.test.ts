import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { openTown, START, useClock } from "./backend.js";

useClock();

it("an upload takes a token in each layer or in none, and goes on at the time that it is told", async () => {
  const { t, ada, bob, cem } = await openTown();
  const upload = (user: typeof ada, team: string) => t.mutation(api.uploads.upload, { user, team, file: "cat.png" });
  const denied = (ms: number, ...full: string[]) => ({ ok: false, retryAt: START + ms, full });
  const taken = (...left: number[]) => ({ ok: true, left });

  for (const left of [2, 1, 0]) expect(await upload(ada, "red")).toEqual(taken(left, left + 2, left + 5));
  expect(await upload(ada, "red")).toEqual(denied(20_000, "user"));
  for (const left of [1, 0]) expect(await upload(bob, "red")).toEqual(taken(left + 1, left, left + 3));
  expect(await upload(bob, "red")).toEqual(denied(12_000, "team"));
  expect(await upload(ada, "red")).toEqual(denied(20_000, "user", "team"));
  expect(await upload(bob, "blue")).toEqual(taken(0, 4, 2));
  for (const left of [1, 0]) expect(await upload(cem, "blue")).toEqual(taken(left + 1, left + 2, left));
  expect(await upload(cem, "blue")).toEqual(denied(7500, "everyone"));
  vi.setSystemTime(START + 19_999);
  expect(await upload(ada, "red")).toMatchObject({ ok: false, full: ["user"] });
  vi.setSystemTime(START + 20_000);
  expect(await upload(ada, "red")).toMatchObject({ ok: true });
});
