/** The store on the official client, over a WebSocket to the embedded backend. */
import { ConvexClient } from "convex/browser";
import { MINUTE } from "convex-rate-limits";
import type { ProjectedStatus, RateLimitQuery, ServerTimeMutation } from "convex-rate-limits/client";
import { watchRateLimit } from "convex-rate-limits/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { refs } from "../../tools/backend/test/app.js";
import { type Embedded, listen } from "../../tools/backend/test/wire.js";

const getRateLimit = refs.getRateLimit as unknown as RateLimitQuery;
const getServerTime = refs.getServerTime as unknown as ServerTimeMutation;

let server: Embedded;
let client: ConvexClient;
beforeEach(async () => {
  vi.spyOn(console, "error").mockReturnValue();
  server = await listen();
  const webSocketConstructor = WebSocket as unknown as typeof globalThis.WebSocket;
  client = new ConvexClient(server.url, { webSocketConstructor, unsavedChangesWarning: false });
});
afterEach(async () => {
  await client.close();
  await server.close();
  vi.restoreAllMocks();
});

it("shows the limit live, by the server's clock, until the last subscriber leaves", async () => {
  const limit = watchRateLimit(client, getRateLimit, { key: "ann", getServerTime });
  const reported: (ProjectedStatus | undefined)[] = [];
  const stop = limit.subscribe((status) => reported.push(status));
  expect(reported).toEqual([undefined]);
  await vi.waitFor(() => {
    expect(reported.at(-1)).toMatchObject({ ok: true, remaining: 2, value: 3 });
  });
  for (let call = 0; call < 3; call++) await client.mutation(refs.write, { user: "ann" });
  await vi.waitFor(() => {
    expect(reported.at(-1)).toMatchObject({ ok: false, remaining: 0 });
  });
  const denied = reported.at(-1);
  expect((denied?.retryAt ?? 0) - limit.now()).toBeGreaterThan(0);
  expect((denied?.retryAt ?? 0) - limit.now()).toBeLessThanOrEqual(MINUTE / 3);

  const heard = reported.length;
  stop();
  expect(limit.status()).toBeUndefined();
  await client.mutation(refs.add, { text: "something else" });
  expect(reported).toHaveLength(heard);
});

it("has no status on a client for server rendering, and sends no query", () => {
  const disabled = new ConvexClient(server.url, { disabled: true });
  const reported: unknown[] = [];
  const stop = watchRateLimit(disabled, getRateLimit, { key: "ann", getServerTime }).subscribe((status) =>
    reported.push(status),
  );
  stop();
  expect(reported).toEqual([undefined]);
  expect(console.error).not.toHaveBeenCalled();
});

it("reports an error that the query throws", async () => {
  const onError = vi.fn();
  const limit = watchRateLimit(client, refs.failQuery as unknown as RateLimitQuery, { onError });
  const stop = limit.subscribe(() => undefined);
  await vi.waitFor(() => {
    expect(onError).toHaveBeenCalled();
  });
  expect(() => limit.status()).toThrow();
  stop();
});
