// @vitest-environment jsdom
/** The components of docs/react.md. */
import { screen } from "@testing-library/react";
import { register } from "convex-rate-limits/test";
import { convexTest } from "convex-test";
import { expect, it, vi } from "vitest";
import { useClock } from "../../clock";
import { open, pass } from "../../page";
import { rateLimit } from "../convex/limits";
import { SendButton } from "./SendButton";
import { Usage } from "./Usage";

useClock();

async function openApp(used: number) {
  const t = convexTest({ modules: import.meta.glob("../convex/**/*.ts") });
  register(t);
  await t.mutation((ctx) => rateLimit(ctx, { name: "sendMessage", key: "ada", count: used }));
  return t.withIdentity({ subject: "ada" });
}

it("the button counts down, and is enabled when the token is there", async () => {
  const onSend = vi.fn();
  await open(await openApp(10), <SendButton onSend={onSend} />);
  const button = screen.getByRole<HTMLButtonElement>("button");
  expect([button.textContent, button.disabled]).toEqual(["Again in 6 s", true]);
  pass(5000);
  expect([button.textContent, button.disabled]).toEqual(["Again in 1 s", true]);
  pass(1000);
  expect([button.textContent, button.disabled]).toEqual(["Send", false]);
  button.click();
  expect(onSend).toHaveBeenCalledOnce();
});

it("the page shows what was used, and until when as long as something is", async () => {
  const { container } = await open(await openApp(3), <Usage />);
  expect(container.textContent).toMatch(/^3 of 10 used until /);
  pass(18_000);
  expect(container.textContent).toBe("0 of 10 used");
});
