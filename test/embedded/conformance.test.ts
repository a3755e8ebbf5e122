/** The official clients, unmodified, against the embedded backend. */
import { ConvexClient, ConvexHttpClient } from "convex/browser";
import { ConvexReactClient } from "convex/react";
import { type FunctionReference, makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { projectRateLimit, type RateLimitSnapshot } from "convex-rate-limits";
import { afterEach, assert, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { refs, runs, unreachable } from "./app.js";
import { type Embedded, listen, type Wire, wireTo } from "./wire.js";

let server: Embedded;
let closing: (() => unknown)[];

beforeEach(async () => {
  closing = [];
  server = await listen();
  // The clients report errors of functions, and reconnects, on the console.
  vi.spyOn(console, "error").mockReturnValue();
  vi.spyOn(console, "warn").mockReturnValue();
  vi.spyOn(console, "log").mockReturnValue();
});
afterEach(async () => {
  for (const close of closing) await close();
  await server.close();
  vi.restoreAllMocks();
});

const overHttp = () => new ConvexHttpClient(server.url);
const options = { webSocketConstructor: WebSocket as unknown as typeof globalThis.WebSocket };

function overWebSocket(url = server.url): ConvexClient {
  const client = new ConvexClient(url, { ...options, unsavedChangesWarning: false });
  closing.push(() => client.close());
  return client;
}

/** What a subscription is told, and a way to wait for it. */
function watch(client: ConvexClient, query: FunctionReference<"query">, args: Record<string, unknown> = {}) {
  const results: unknown[] = [];
  const errors: Error[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  const subscription = client.onUpdate(
    query,
    args,
    (result: unknown) => {
      results.push(result);
      wake();
    },
    (error) => {
      errors.push(error);
      wake();
    },
  );
  const until = (isThere: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!isThere()) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  return {
    results,
    errors,
    until,
    unsubscribe: () => {
      subscription.unsubscribe();
    },
  };
}

const thrownBy = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => assert.fail("nothing was thrown"),
    (error: unknown) => error,
  );

describe("over HTTP", () => {
  it("queries, mutations and actions answer", async () => {
    const client = overHttp();
    expect(await client.query(refs.list, {})).toEqual([]);
    await client.mutation(refs.add, { text: "a" });
    expect(await client.action(refs.addMany, { texts: ["b", "c"] })).toBe(2);
    expect(await client.query(refs.list, {})).toEqual(["a", "b", "c"]);
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- experimental, but it is there
    expect(await client.consistentQuery(refs.list, {})).toEqual(["a", "b", "c"]);
    expect(await client.mutation(refs.nothing, {})).toBeNull();
  });

  it("values of all types survive", async () => {
    const value = {
      big: 2n ** 62n,
      bytes: new Uint8Array([1, 2]).buffer,
      number: -0.5,
      nan: Number.NaN,
      list: [null, true, "ü"],
    };
    expect(await overHttp().query(refs.echo, { value })).toEqual(value);
  });

  it("a ConvexError arrives with its data, and has changed nothing", async () => {
    const client = overHttp();
    for (const run of [() => client.mutation(refs.addAndFail, {}), () => client.action(refs.failAction, {})]) {
      const error = await thrownBy(run());
      assert(error instanceof ConvexError);
      expect(error.data).toHaveProperty("kind");
    }
    expect(await client.query(refs.list, {})).toEqual([]);
  });

  it("any other error arrives as one, without data", async () => {
    const error = await thrownBy(overHttp().mutation(refs.crash, {}));
    expect(error).not.toBeInstanceOf(ConvexError);
    expect(String(error)).toContain("a bug");
  });

  it("arguments are validated", async () => {
    await expect(overHttp().mutation(refs.add, { text: 1 })).rejects.toThrow(/[Vv]alidator/);
    await expect(overHttp().mutation(refs.add, { text: "a", also: 1 })).rejects.toThrow(/[Vv]alidator/);
  });

  it("an internal function is as unknown to a client as one that does not exist", async () => {
    const client = overHttp();
    for (const query of unreachable) {
      await expect(client.query(query, {})).rejects.toThrow(/Could not find public function/);
    }
    await expect(client.mutation(refs.forbidden, {})).rejects.toThrow(/Could not find public function/);
    expect(await client.query(refs.list, {})).toEqual([]);
  });

  it("a function of another type is not run", async () => {
    const client = overHttp();
    await expect(client.query(makeFunctionReference<"query">("notes:add"), {})).rejects.toThrow(/as query, but/);
    await expect(client.mutation(makeFunctionReference<"mutation">("notes:list"), {})).rejects.toThrow(
      /as mutation, but/,
    );
    expect(await client.query(refs.list, {})).toEqual([]);
  });

  it.each([
    ["no JSON", "{", 400],
    ["nothing", "", 400],
    ["no object", "[]", 400],
    ["no path", '{"args":[{}]}', 400],
    ["a path that is no string", '{"path":1,"args":[{}]}', 400],
    ["no arguments", '{"path":"notes:list"}', 400],
    ["arguments that are no object", '{"path":"notes:list","args":["a"]}', 400],
    ["too much", `{"path":"${"x".repeat(17 * 2 ** 20)}"}`, 413],
  ])("a body that is %s is refused", async (_what, body, status) => {
    const response = await fetch(`${server.url}/api/query`, { method: "POST", body });
    expect(response.status).toBe(status);
    expect(await response.json()).toHaveProperty("message");
  });

  it("`npx convex run` calls a function without saying of what type it is", async () => {
    // What the CLI calls; the types hide it.
    const client = overHttp() as unknown as {
      function(fn: object, componentPath: undefined, args: object): Promise<unknown>;
    };
    const run = (name: string, args: object) => client.function(makeFunctionReference(name), undefined, args);
    await run("notes:add", { text: "a" });
    await run("notes:addMany", { texts: ["b", "c"] });
    expect(await run("notes:list", {})).toEqual(["a", "b", "c"]);
    await expect(run("notes:secret", {})).rejects.toThrow("Could not find public function");
  });

  it("other methods and other paths are refused, and what is not the backend's is left to the page", async () => {
    expect((await fetch(`${server.url}/api/query`)).status).toBe(405);
    expect((await fetch(`${server.url}/api/push`, { method: "POST" })).status).toBe(404);
    expect(await (await fetch(`${server.url}/index.html`)).text()).toBe("the page's");
  });

  it("another site's page gets nothing", async () => {
    const body = JSON.stringify({ path: "notes:add", args: [{ text: "forged" }] });
    const forged = await fetch(`${server.url}/api/mutation`, {
      method: "POST",
      body,
      headers: { Origin: "https://evil.example" },
    });
    expect(forged.status).toBe(403);
    const own = await fetch(`${server.url}/api/mutation`, { method: "POST", body, headers: { Origin: server.url } });
    expect(own.status).toBe(200);
    expect(await overHttp().query(refs.list, {})).toEqual(["forged"]);
  });
});

describe("HTTP actions", () => {
  it("get the request and give the response", async () => {
    const response = await fetch(`${server.url}/http/notes?a=1`, {
      method: "POST",
      body: "hello",
      headers: { "x-user": "ann", "x-forwarded-for": "192.0.2.7" },
    });
    expect(response.status).toBe(201);
    expect(response.headers.get("x-limit")).toBe("3");
    expect(await response.json()).toEqual({ text: "hello", by: "ann", from: "192.0.2.7, 127.0.0.1", query: "?a=1" });
    expect(await overHttp().query(refs.list, {})).toEqual(["hello"]);
  });

  it("answer with the status they choose, and 404 where there is none", async () => {
    expect((await fetch(`${server.url}/http/notes`, { method: "POST" })).status).toBe(422);
    expect((await fetch(`${server.url}/http/notes`)).status).toBe(404);
    expect((await fetch(`${server.url}/http/other`)).status).toBe(404);
  });
});

describe("over a WebSocket", () => {
  it("a subscription is told what others change, and its own mutation's result only after its effect", async () => {
    const reader = overWebSocket();
    const list = watch(reader, refs.list);
    await list.until(() => list.results.length === 1);
    expect(list.results).toEqual([[]]);

    await overHttp().mutation(refs.add, { text: "a" });
    await list.until(() => list.results.length === 2);
    await reader.mutation(refs.add, { text: "b" });
    expect(list.results.at(-1)).toEqual(["a", "b"]);
    await overHttp().action(refs.addMany, { texts: ["c"] });
    await list.until(() => list.results.length === 4);
    expect(list.results.at(-1)).toEqual(["a", "b", "c"]);
  });

  it("mutations run in the order in which they were sent", async () => {
    const client = overWebSocket();
    const texts = Array.from({ length: 50 }, (_, i) => `${i}`);
    await Promise.all(texts.map((text) => client.mutation(refs.add, { text })));
    expect(await client.query(refs.list, {})).toEqual(texts);
  });

  it("a query runs again only when a table that it read has changed, and once for all who want it", async () => {
    const clients = [overWebSocket(), overWebSocket()];
    const lists = clients.map((client) => watch(client, refs.list));
    const counts = clients.map((client) => watch(client, refs.countOther));
    for (const { until, results } of [...lists, ...counts]) await until(() => results.length === 1);
    const before = { ...runs };
    await overHttp().mutation(refs.add, { text: "a" });
    for (const { until, results } of lists) await until(() => results.length === 2);
    expect(runs).toEqual({ list: before.list + 1, countOther: before.countOther });
  });

  it("what a component holds is live too", async () => {
    const client = overWebSocket();
    const bucket = watch(client, refs.getRateLimit, { key: "ann" });
    await bucket.until(() => bucket.results.length === 1);
    await client.mutation(refs.write, { user: "ann" });
    const snapshot = bucket.results.at(-1) as RateLimitSnapshot;
    expect(projectRateLimit(snapshot, { now: snapshot.ts, count: 0 }).remaining).toBe(2);
    expect(await client.mutation(refs.getServerTime, {})).toBeLessThanOrEqual(Date.now());
  });

  it("a scheduled function runs, and is seen", async () => {
    const client = overWebSocket();
    const list = watch(client, refs.list);
    await list.until(() => list.results.length === 1);
    await client.mutation(refs.addLater, { text: "later", inMs: 5 });
    await list.until(() => list.results.length === 2);
    expect(list.results.at(-1)).toEqual(["later"]);
  });

  it("a cancelled one does not run, and cancelling one that has run does nothing", async () => {
    const client = overWebSocket();
    const list = watch(client, refs.list);
    await list.until(() => list.results.length === 1);
    const cancelled: unknown = await client.mutation(refs.addLater, { text: "cancelled", inMs: 300 });
    await client.mutation(refs.cancel, { job: cancelled });
    const job: unknown = await client.mutation(refs.addLater, { text: "kept", inMs: 320 });
    await list.until(() => list.results.length === 2);
    await client.mutation(refs.cancel, { job });
    expect(list.results.at(-1)).toEqual(["kept"]);
  });

  it("what no timer can wait for is refused", async () => {
    await expect(overHttp().mutation(refs.addLater, { text: "a", inMs: 30 * 24 * 3600_000 })).rejects.toThrow(
      /24\.8 days/,
    );
  });

  it("errors arrive with their data: of queries, mutations and actions", async () => {
    const client = overWebSocket();
    const failing = watch(client, refs.failQuery);
    await failing.until(() => failing.errors.length === 1);
    expect(failing.errors[0]).toMatchObject({ data: "no data" });
    expect(await thrownBy(client.mutation(refs.addAndFail, {}))).toMatchObject({ data: { kind: "Full", most: 3n } });
    expect(await thrownBy(client.action(refs.failAction, {}))).toMatchObject({ data: { kind: "Broken" } });
    const crash = await thrownBy(client.mutation(refs.crash, {}));
    expect(crash).not.toBeInstanceOf(ConvexError);
    expect(String(crash)).toContain("a bug");
  });

  it("unknown and internal functions are refused", async () => {
    const client = overWebSocket();
    const secret = watch(client, refs.secret);
    await secret.until(() => secret.errors.length === 1);
    expect(secret.errors[0]?.message).toContain("Could not find public function");
    await expect(client.mutation(refs.forbidden, {})).rejects.toThrow("Could not find public function");
    await expect(client.action(refs.unknownAction, {})).rejects.toThrow("Could not find");
    expect(await client.query(refs.list, {})).toEqual([]);
  });

  it("works with ConvexReactClient, and subscriptions come and go", async () => {
    const client = new ConvexReactClient(server.url, { ...options, unsavedChangesWarning: false });
    closing.push(() => client.close());
    const seen: unknown[] = [];
    for (let round = 0; round < 3; round++) {
      const watched = client.watchQuery(refs.list, {});
      await new Promise<void>((resolve) => {
        const stop = watched.onUpdate(() => {
          seen.push(watched.localQueryResult());
          stop();
          resolve();
        });
      });
      await client.mutation(refs.add, { text: `${round}` });
    }
    expect(seen).toEqual([[], ["0"], ["0", "1"]]);
  });

  it("text that is no message closes the connection", async () => {
    for (const text of ["{", '{"type":"Nonsense"}', "null"]) {
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/1.48.0/sync`);
      await new Promise((resolve) => socket.on("open", resolve));
      socket.send(text);
      const code = await new Promise((resolve) => socket.on("close", resolve));
      expect(code).toBe(1008);
    }
    expect(await overHttp().query(refs.list, {})).toEqual([]);
  });

  it("another site's page is not let in", async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/1.48.0/sync`, {
      origin: "https://evil.example",
    });
    const error = await new Promise((resolve) => socket.on("error", resolve));
    expect(String(error)).toContain("403");
  });
});

describe("when the connection breaks", () => {
  let wire: Wire;
  beforeEach(async () => {
    wire = await wireTo(server.port);
    closing.push(() => wire.close());
  });

  it("a mutation whose answer was lost is executed once, and its client learns the result", async () => {
    const direct = overWebSocket();
    const list = watch(direct, refs.list);
    await list.until(() => list.results.length === 1);
    const client = overWebSocket(wire.url);
    await client.query(refs.list, {});

    wire.silence();
    const sending = client.mutation(refs.add, { text: "once" });
    await list.until(() => list.results.length === 2);
    wire.cut();

    expect(await sending).toMatch(/notes$/);
    expect(list.results.at(-1)).toEqual(["once"]);
    await client.mutation(refs.add, { text: "next" });
    expect(await direct.query(refs.list, {})).toEqual(["once", "next"]);
  });

  it("an error whose answer was lost is not thrown twice on the server", async () => {
    const client = overWebSocket(wire.url);
    await client.query(refs.list, {});
    wire.silence();
    const failing = thrownBy(client.mutation(refs.addAndFail, {}));
    await overHttp().mutation(refs.add, { text: "meanwhile" });
    wire.cut();
    expect(await failing).toMatchObject({ data: { kind: "Full" } });
  });

  it("subscriptions catch up with what happened in between", async () => {
    const client = overWebSocket(wire.url);
    const list = watch(client, refs.list);
    await list.until(() => list.results.length === 1);
    wire.cut();
    await overHttp().mutation(refs.add, { text: "meanwhile" });
    await list.until(() => list.results.length === 2);
    expect(list.results.at(-1)).toEqual(["meanwhile"]);
  });

  it("clients outlive a restart of the server, whose memory is gone", async () => {
    const client = overWebSocket();
    const list = watch(client, refs.list);
    await list.until(() => list.results.length === 1);
    await client.mutation(refs.add, { text: "forgotten" });
    expect(list.results.at(-1)).toEqual(["forgotten"]);
    await server.close();
    server = await listen(server.port);
    await list.until(() => list.results.length === 3);
    expect(list.results.at(-1)).toEqual([]);
    await client.mutation(refs.add, { text: "new" });
    expect(list.results.at(-1)).toEqual(["new"]);
  });
});
