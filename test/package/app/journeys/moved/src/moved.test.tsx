// @vitest-environment jsdom
/** The app of the official component, after the four lines of docs/migrating.md. */
import { screen } from "@testing-library/react";
import { register } from "convex-rate-limits/test";
import { convexTest } from "convex-test";
import { expect, it } from "vitest";
import { START, useClock } from "../../clock";
import { open, pass } from "../../page";
import { api } from "../convex/_generated/api";
import schema from "../convex/schema";
import { SendButton } from "./SendButton";

useClock(START);

it("throws what the official component threw, and its button shows the wait", async () => {
  const t = convexTest({ schema, modules: import.meta.glob("../convex/**/*.ts") });
  register(t);
  const message = { author: "ada", body: "Hello" };
  for (let i = 0; i < 3; i++) await t.mutation(api.messages.send, message);
  pass(500);
  const data = { kind: "RateLimited", name: "sendMessage", retryAfter: 7000 };
  await expect(t.mutation(api.messages.send, message)).rejects.toMatchObject({ data });
  expect(await t.mutation(api.messages.trySend, { author: "bob" })).toBe("sent");

  await open(t, <SendButton author="ada" />);
  const button = screen.getByRole("button");
  // convex-test may set its clock a millisecond ahead.
  expect(button.textContent).toMatch(/^Again at 2026-01-01T00:00:(14.999|15.000)Z$/);
  pass(14_500);
  expect(button.textContent).toMatch(/^2(\.0\d*)? left$/);
});
