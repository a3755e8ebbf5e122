import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { signUp } from "../../example/demo/people.js";
import { openBackend, START, useClock } from "./backend.js";

useClock();

async function openTeam() {
  const t = openBackend();
  const [ada, bob, cem] = [await signUp(t, "Ada"), await signUp(t, "Bob"), await signUp(t, "Cem")];
  const upload = (user: typeof ada, team: string) => t.mutation(api.uploads.upload, { user, team, file: "cat.png" });
  return { t, ada, bob, cem, upload };
}

it("an upload takes a token in each layer", async () => {
  const { ada, upload } = await openTeam();
  expect(await upload(ada, "red")).toEqual({ ok: true, left: [2, 4, 7] });
  expect(await upload(ada, "red")).toEqual({ ok: true, left: [1, 3, 6] });
});

it("a caller that is stopped in one layer has not paid in the others, and goes on at the time that it is told", async () => {
  const { ada, bob, cem, upload } = await openTeam();
  for (let i = 0; i < 3; i++) await upload(ada, "red");
  expect(await upload(ada, "red")).toEqual({ ok: false, retryAt: START + 20_000, full: ["user"] });
  for (let i = 0; i < 2; i++) await upload(bob, "red");
  expect(await upload(bob, "red")).toEqual({ ok: false, retryAt: START + 12_000, full: ["team"] });
  expect(await upload(ada, "red")).toEqual({ ok: false, retryAt: START + 20_000, full: ["user", "team"] });
  expect(await upload(bob, "blue")).toEqual({ ok: true, left: [0, 4, 2] });
  for (let i = 0; i < 2; i++) await upload(cem, "blue");
  expect(await upload(cem, "blue")).toEqual({ ok: false, retryAt: START + 7500, full: ["everyone"] });
  vi.setSystemTime(START + 19_999);
  expect(await upload(ada, "red")).toMatchObject({ ok: false, full: ["user"] });
  vi.setSystemTime(START + 20_000);
  expect(await upload(ada, "red")).toMatchObject({ ok: true });
});
