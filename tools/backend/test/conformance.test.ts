/** Tests the embedded backend with the official clients, unmodified. */
import type { Socket } from "node:net";
import { ConvexClient, ConvexHttpClient } from "convex/browser";
import { ConvexReactClient } from "convex/react";
import { type FunctionReference, makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { afterEach, assert, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { thrownBy } from "../../../test/support/errors.js";
import { refs, runs, unreachable } from "./app.js";
import { type Embedded, listen, wireTo } from "./wire.js";

let server: Embedded;
let closing: (() => unknown)[];

beforeEach(async () => {
  closing = [];
  server = await listen();
  // The clients log errors of functions, and reconnects, to the console.
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

/** The updates of a subscription. `result(n)` waits until result number n is the latest, and `error` waits for an error. */
function watch(client: ConvexClient, query: FunctionReference<"query">, args: Record<string, unknown> = {}) {
  const results: unknown[] = [];
  let wake: (() => void) | undefined;
  const update = (result: unknown) => {
    results.push(result);
    wake?.();
  };
  const error = new Promise<Error>((resolve) => void client.onUpdate(query, args, update, resolve));
  const result = async (count: number) => {
    while (results.length < count) await new Promise<void>((resolve) => (wake = resolve));
    expect(results).toHaveLength(count);
    return results[count - 1];
  };
  return { results, result, error };
}

const transports = Object.entries({ HTTP: overHttp, "a WebSocket": () => overWebSocket() });
describe.each(transports)("over %s", (_transport, open) => {
  it("queries, mutations and actions answer", async () => {
    const client = open();
    expect(await client.query(refs.list, {})).toEqual([]);
    await client.mutation(refs.add, { text: "a" });
    expect(await client.action(refs.addMany, { texts: ["b", "c"] })).toBe(2);
    expect(await client.query(refs.list, {})).toEqual(["a", "b", "c"]);
    expect(await client.mutation(refs.nothing, {})).toBeNull();
  });

  it("values of all types survive", async () => {
    const numbers = { big: 2n ** 62n, number: -0.5, nan: Number.NaN };
    const value = { ...numbers, bytes: new Uint8Array([1, 2]).buffer, list: [null, true, "ü"] };
    expect(await open().query(refs.echo, { value })).toEqual(value);
  });

  it("a ConvexError arrives with its data, another error without data, and neither changes anything", async () => {
    const client = open();
    for (const [run, data] of [
      [() => client.query(refs.failQuery, {}), "no data"],
      [() => client.mutation(refs.addAndFail, {}), { kind: "Full", most: 3n }],
      [() => client.action(refs.failAction, {}), { kind: "Broken" }],
    ] as const) {
      const error = await thrownBy(run());
      assert(error instanceof ConvexError);
      expect(error.data).toEqual(data);
    }
    const error = await thrownBy(client.mutation(refs.crash, {}));
    expect(error).not.toBeInstanceOf(ConvexError);
    expect(String(error)).toContain("a bug");
    expect(await client.query(refs.list, {})).toEqual([]);
  });

  it("a client can call neither an internal function nor a missing one, nor a function as another type or with wrong arguments", async () => {
    const client = open();
    for (const args of [{ text: 1 }, { text: "a", also: 1 }]) {
      await expect(client.mutation(refs.add, args)).rejects.toThrow(/[Vv]alidator/);
    }
    const unknown = /Could not find public function/;
    for (const query of unreachable) await expect(client.query(query, {})).rejects.toThrow(unknown);
    await expect(client.mutation(refs.forbidden, {})).rejects.toThrow(unknown);
    await expect(client.action(refs.unknownAction, {})).rejects.toThrow(unknown);
    await expect(client.query(makeFunctionReference<"query">("notes:add"), {})).rejects.toThrow(/as query, but/);
    const list = makeFunctionReference<"mutation">("notes:list");
    await expect(client.mutation(list, {})).rejects.toThrow(/as mutation, but/);
    expect(await client.query(refs.list, {})).toEqual([]);
  });
});

describe("over HTTP", () => {
  it("a query can be repeated at the time of the first one", async () => {
    const client = overHttp();
    await client.mutation(refs.add, { text: "a" });
    // oxlint-disable-next-line typescript/no-deprecated -- experimental, but it exists
    expect(await client.consistentQuery(refs.list, {})).toEqual(["a"]);
  });

  it.each([
    ["a body that is not JSON", "{", 400],
    ["an empty body", "", 400],
    ["a body that is not an object", "[]", 400],
    ["a body without a path", '{"args":[{}]}', 400],
    ["a path that is not a string", '{"path":1,"args":[{}]}', 400],
    ["a body without arguments", '{"path":"notes:list"}', 400],
    ["arguments that are not an object", '{"path":"notes:list","args":["a"]}', 400],
    ["a body of more than 16 MiB", `{"path":"${"x".repeat(17 * 2 ** 20)}"}`, 413],
  ])("%s is refused", async (_what, body, status) => {
    const response = await fetch(`${server.url}/api/query`, { method: "POST", body });
    expect(response.status).toBe(status);
    expect(await response.json()).toHaveProperty("message");
  });

  it("`npx convex run` calls a function without naming its type", async () => {
    // The CLI calls this method; the types hide it.
    const client = overHttp() as unknown as {
      function(fn: object, componentPath: undefined, args: object): Promise<unknown>;
    };
    const run = (name: string, args: object) => client.function(makeFunctionReference(name), undefined, args);
    await run("notes:add", { text: "a" });
    await run("notes:addMany", { texts: ["b", "c"] });
    expect(await run("notes:list", {})).toEqual(["a", "b", "c"]);
    await expect(run("notes:secret", {})).rejects.toThrow("Could not find public function");
  });

  it.each([
    ["GET", "/api/query", 405],
    ["POST", "/api/push", 404],
    // An action's own status, an action whose answer breaks off, and paths without an action.
    ["POST", "/http/notes", 422],
    ["POST", "/http/notes", 500, "broken"],
    ["GET", "/http/notes", 404],
    ["GET", "/http/other", 404],
  ] as const)("%s %s is answered with %d", async (method, path, status, body?: string) => {
    expect((await fetch(`${server.url}${path}`, { method, body: body ?? null })).status).toBe(status);
  });

  it("a path that is not the backend's is left to the page", async () => {
    expect(await (await fetch(`${server.url}/index.html`)).text()).toBe("the page's");
  });

  it("an HTTP action gets the request and gives the response", async () => {
    const headers = { "x-user": "ann", "x-forwarded-for": "192.0.2.7" };
    const response = await fetch(`${server.url}/http/notes?a=1`, { method: "POST", body: "hello", headers });
    expect([response.status, response.headers.get("x-limit")]).toEqual([201, "3"]);
    expect(await response.json()).toEqual({ text: "hello", by: "ann", from: "192.0.2.7, 127.0.0.1", query: "?a=1" });
    expect(await overHttp().query(refs.list, {})).toEqual(["hello"]);
  });

  it("another site's page is refused", async () => {
    const body = JSON.stringify({ path: "notes:add", args: [{ text: "forged" }] });
    const sendFrom = (Origin: string) =>
      fetch(`${server.url}/api/mutation`, { method: "POST", body, headers: { Origin } });
    expect((await sendFrom("https://evil.example")).status).toBe(403);
    expect((await sendFrom(server.url)).status).toBe(200);
    expect(await overHttp().query(refs.list, {})).toEqual(["forged"]);
  });
});

describe("over a WebSocket", () => {
  it("a subscription shows others' changes, and a mutation resolves only after its client's subscriptions show its effect", async () => {
    const reader = overWebSocket();
    const list = watch(reader, refs.list);
    expect(await list.result(1)).toEqual([]);
    await overHttp().mutation(refs.add, { text: "a" });
    await list.result(2);
    await reader.mutation(refs.add, { text: "b" });
    expect(list.results.at(-1)).toEqual(["a", "b"]);
    await overHttp().action(refs.addMany, { texts: ["c"] });
    expect(await list.result(4)).toEqual(["a", "b", "c"]);
  });

  it("mutations run in the order in which they were sent", async () => {
    const client = overWebSocket();
    const texts = Array.from({ length: 50 }, (_, i) => `${i}`);
    await Promise.all(texts.map((text) => client.mutation(refs.add, { text })));
    expect(await client.query(refs.list, {})).toEqual(texts);
  });

  it("a query runs again only if a table that it read has changed, and once for all subscribers", async () => {
    const clients = [overWebSocket(), overWebSocket()];
    const lists = clients.map((client) => watch(client, refs.list));
    const counts = clients.map((client) => watch(client, refs.countOther));
    for (const { result } of [...lists, ...counts]) await result(1);
    const before = { ...runs };
    await overHttp().mutation(refs.add, { text: "a" });
    for (const { result } of lists) await result(2);
    expect(runs).toEqual({ list: before.list + 1, countOther: before.countOther });
  });

  it("a scheduled function runs, a cancelled one does not, and cancelling one that has run does nothing", async () => {
    const client = overWebSocket();
    const list = watch(client, refs.list);
    await list.result(1);
    const cancelled: unknown = await client.mutation(refs.addLater, { text: "cancelled", inMs: 300 });
    await client.mutation(refs.cancel, { job: cancelled });
    const job: unknown = await client.mutation(refs.addLater, { text: "kept", inMs: 320 });
    await list.result(2);
    await client.mutation(refs.cancel, { job });
    expect(list.results.at(-1)).toEqual(["kept"]);
  });

  it("a delay that is too long for a timer is refused", async () => {
    const late = overHttp().mutation(refs.addLater, { text: "a", inMs: 30 * 24 * 3600_000 });
    await expect(late).rejects.toThrow(/24\.8 days/);
  });

  it("a subscription gets an error if its query throws or does not exist", async () => {
    const client = overWebSocket();
    expect(await watch(client, refs.failQuery).error).toMatchObject({ data: "no data" });
    expect((await watch(client, refs.secret).error).message).toContain("Could not find public function");
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

  it("text that is not a message closes the connection, and so does a bad frame", async () => {
    const closing = async (send: (socket: WebSocket) => void) => {
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/1.48.0/sync`);
      await new Promise((resolve) => socket.on("open", resolve));
      send(socket);
      return await new Promise((resolve) => socket.on("close", resolve));
    };
    const withoutArgs = '{"type":"Mutation","requestId":1,"udfPath":"notes:add"}';
    for (const text of ["{", '{"type":"Nonsense"}', "null", withoutArgs, `{"type":"${"語".repeat(60)}"}`]) {
      expect(
        await closing((socket) => {
          socket.send(text);
        }),
      ).toBe(1008);
    }
    const wireOf = (socket: WebSocket) => (socket as unknown as { _socket: Socket })._socket;
    expect(await closing((socket) => wireOf(socket).write(Buffer.from([0xff, 0xff])))).toBe(1002);
    expect(await overHttp().query(refs.list, {})).toEqual([]);
  });

  it("another site's page cannot connect", async () => {
    const origin = "https://evil.example";
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/1.48.0/sync`, { origin });
    const error = await new Promise((resolve) => socket.on("error", resolve));
    expect(String(error)).toContain("403");
  });
});

describe("when the connection breaks", () => {
  let wire: Awaited<ReturnType<typeof wireTo>>;
  beforeEach(async () => {
    wire = await wireTo(server.port);
    closing.push(() => wire.close());
  });

  it("a mutation whose answer was lost is executed once, and its client gets the result", async () => {
    const direct = overWebSocket();
    const list = watch(direct, refs.list);
    await list.result(1);
    const client = overWebSocket(wire.url);
    await client.query(refs.list, {});
    wire.silence();
    const sending = client.mutation(refs.add, { text: "once" });
    await list.result(2);
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
    await list.result(1);
    wire.cut();
    await overHttp().mutation(refs.add, { text: "meanwhile" });
    expect(await list.result(2)).toEqual(["meanwhile"]);
  });

  it("clients survive a restart of the server, which loses its memory", async () => {
    const client = overWebSocket();
    const list = watch(client, refs.list);
    await list.result(1);
    await client.mutation(refs.add, { text: "forgotten" });
    expect(list.results.at(-1)).toEqual(["forgotten"]);
    await server.close();
    server = await listen(server.port);
    expect(await list.result(3)).toEqual([]);
    await client.mutation(refs.add, { text: "new" });
    expect(list.results.at(-1)).toEqual(["new"]);
  });
});
