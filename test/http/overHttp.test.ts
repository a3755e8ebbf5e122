import { once } from "node:events";
import { type IncomingMessage, type OutgoingHttpHeaders, request as sendRaw } from "node:http";
import ky from "ky";
import { apiKey } from "convex-rate-limits/http";
import { afterEach, expect, it, vi } from "vitest";
import { type PlaceName, placeNames } from "../support/places.js";
import { byUser, openApp, pass, START, TEN_THEN_FIVE, useClock } from "./backend.js";
import { listen, type Observer, type Server } from "./server.js";

useClock();

let server: Server | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function open(place: PlaceName, observer?: Observer): Promise<Server> {
  const limits = { limit: "api", by: [apiKey(), byUser], without: "deny", config: TEN_THEN_FIVE };
  const echo = async (_ctx: unknown, request: Request) => new Response(`heard ${await request.text()}`);
  server = await listen(openApp({ limits, place, formats: ["draft-11", "x"] }, echo).t, observer);
  return server;
}

it.each(placeNames)(
  "with the limits in the %s ten at once pass, the eleventh is denied, and after a second five pass and the sixth is denied",
  async (place) => {
    const { url } = await open(place);
    const send = async () => (await fetch(url, { headers: { "X-Api-Key": "ada" } })).status;
    const together = async (count: number) => (await Promise.all(Array.from({ length: count }, send))).sort();
    expect(await together(10)).toEqual(new Array(10).fill(200));
    expect(await send()).toBe(429);
    pass(1000);
    expect(await together(6)).toEqual([200, 200, 200, 200, 200, 429]);
  },
);

it("an unmodified client that obeys Retry-After gets through without a single extra 429", async () => {
  // The limits' clock stands still until the first 429; from then on it shows the time that has really passed.
  let deniedAt: number | undefined;
  const { url, answers } = await open("component", {
    onRequest: () => {
      if (deniedAt !== undefined) vi.setSystemTime(START + Math.floor(performance.now() - deniedAt));
    },
    onAnswer: (status) => {
      if (status === 429) deniedAt ??= performance.now();
    },
  });
  const client = ky.create({ headers: { "X-Api-Key": "ada" } });
  const bodies = await Promise.all(Array.from({ length: 13 }, () => client.get(url).text()));
  expect(bodies).toEqual(new Array(13).fill("heard "));
  // Ten pass, three wait once, and all three get their turn.
  expect(answers).toEqual([...new Array<number>(10).fill(200), 429, 429, 429, 200, 200, 200]);
});

it("hostile headers get a bucket of their own, not another's, and break nothing", async () => {
  const { url } = await open("tables");
  const send = async (headers: OutgoingHttpHeaders) => {
    const request = sendRaw(url, { headers }).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    return [response.statusCode, response.headers["ratelimit"]];
  };
  const full = [200, '"api";r=9;t=1'];
  expect(await send({ "X-User": "ada" })).toEqual(full);
  for (const user of ["\u00e4da", "a".repeat(8000), "own.user:ada", "ada, ada", '"ada"', "ada\tada"]) {
    expect(await send({ "X-User": user })).toEqual(full);
  }
  expect(await send({ "X-Api-Key": "ada" })).toEqual(full);
  expect(await send({ "X-User": ["ada", "grace"] })).toEqual(full);
  expect(await send({ "X-User": "ada" })).toEqual([200, '"api";r=8;t=1']);
});

it("bodies and methods come through", async () => {
  const { url } = await open("component");
  const response = await fetch(url, { method: "POST", body: "all of it", headers: { "X-User": "ada" } });
  expect([response.status, await response.text()]).toEqual([200, "heard all of it"]);
});
