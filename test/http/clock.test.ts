// @vitest-environment edge-runtime
/** The clock moves while the limits are asked and while the handler works: what is told is true when it is sent. */
import { SECOND } from "convex-rate-limits";
import { type HttpLimit } from "convex-rate-limits/http";
import { expect, it } from "vitest";
import { pass, serve, useClock } from "./backend.js";

useClock();

/** A transaction takes a while before it decides, and its answer a while to arrive. */
const slow = async (call: () => Promise<unknown>) => {
  pass(40);
  const answer = await call();
  pass(60);
  return answer;
};

const oneASecond: HttpLimit = {
  limit: "one",
  by: "everyone",
  config: { kind: "token bucket", rate: 1, period: SECOND },
};

it("one request a second is told t=1, with q=1;w=1, however long the limits take to answer", async () => {
  const send = serve({ limits: oneASecond, runMutation: slow });
  for (let i = 0; i < 5; i++) {
    const { status, headers } = await send();
    expect([status, headers.get("RateLimit-Policy"), headers.get("RateLimit")]).toEqual([
      200,
      '"one";q=1;w=1',
      '"one";r=0;t=1',
    ]);
    pass(1000);
  }
});

it("a denial is told the wait from when it is sent", async () => {
  const limits: HttpLimit = {
    ...oneASecond,
    config: { kind: "token bucket", rate: 1, period: 10 * SECOND },
  };
  const send = serve({ limits, runMutation: slow });
  await send();
  // Decided 10 s - 100 ms before the token comes: sent at 9,840 ms before it.
  const denied = await send();
  expect([denied.status, denied.headers.get("Retry-After")]).toEqual([429, "10"]);
  pass(841);
  expect((await send()).headers.get("Retry-After")).toBe("9");
});

it("the handler's own time counts", async () => {
  const limits: HttpLimit = {
    ...oneASecond,
    config: { kind: "token bucket", rate: 1, period: 60 * SECOND },
  };
  const send = serve({ limits }, () => {
    pass(30 * SECOND);
    return Promise.resolve(new Response("a report"));
  });
  expect((await send()).headers.get("RateLimit")).toBe('"one";r=0;t=30');
});
