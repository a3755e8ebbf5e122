/** The app of docs/start.md with its limits in the component, and the HTTP action of docs/http.md. */
import { isRateLimitError } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { NOW, useClock } from "../../clock";
import { api } from "./_generated/api";
import { openAppWithComponent } from "./app.setup";

useClock();

it("denies the 21st message, which goes through at retryAt", async () => {
  const ada = openAppWithComponent().withIdentity({ subject: "ada" });
  const send = (body: string) => ada.mutation(api.messages.send, { body });
  for (let i = 0; i < 20; i++) await send("hello");
  const error: unknown = await send("hello").catch((thrown: unknown) => thrown);
  if (!isRateLimitError(error)) throw error;
  expect(error.data).toMatchObject({ name: "sendMessage", retryAt: NOW + 6000 });
  vi.setSystemTime(error.data.retryAt);
  await expect(send("x".repeat(501))).rejects.toThrow("too long");
  await send("the token of the long one is still there");
});

it("answers the eleventh request of an address with 429 and the fields of docs/http.md", async () => {
  const t = openAppWithComponent();
  const get = () => t.fetch("/hello", { headers: { "X-Forwarded-For": "198.51.100.1" } });
  for (let i = 0; i < 10; i++) expect(await (await get()).text()).toBe("Hello");
  const denied = await get();
  expect(denied.status).toBe(429);
  expect(Object.fromEntries(denied.headers)).toEqual({
    "access-control-expose-headers": "ratelimit, ratelimit-policy, retry-after",
    "content-type": "application/problem+json",
    "ratelimit-policy": '"hello";q=10;w=10',
    ratelimit: '"hello";r=0;t=10',
    "retry-after": "1",
  });
  expect(await denied.json()).toMatchObject({ status: 429, "violated-policies": ["hello"] });
  vi.setSystemTime(NOW + 1000);
  expect((await get()).status).toBe(200);
});
