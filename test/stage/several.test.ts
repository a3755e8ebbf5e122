/** The page's tab of three limits. */
import { SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../stage/convex/_generated/api.js";
import { openBackend, START, useClock } from "./backend.js";

useClock();

it("each of the three limits of an upload can deny it alone", async () => {
  const t = openBackend();
  /** The limits that deny an upload, by their place: 0 of the user, 1 of the team, 2 of everyone. */
  const deniedBy = async (user: string) => {
    const { statuses } = await t.mutation(api.stage.several.upload, { room: "three", user });
    return statuses.flatMap(({ ok }, place) => (ok ? [] : [place]));
  };
  for (let i = 0; i < 3; i++) expect(await deniedBy("Ada")).toEqual([]);
  expect(await deniedBy("Ada")).toEqual([0]);
  for (let i = 0; i < 2; i++) expect(await deniedBy("Ben")).toEqual([]);
  expect(await deniedBy("Ben")).toEqual([1]);
  // The team gets a token each 12 s, and everyone only one each 20 s.
  for (const [user, expected] of [
    ["Ben", []],
    ["Ben", []],
    ["Ada", [2]],
  ] as const) {
    vi.setSystemTime(Date.now() + 12 * SECOND);
    expect(await deniedBy(user)).toEqual(expected);
  }
  expect(Date.now()).toBe(START + 36 * SECOND);
});
