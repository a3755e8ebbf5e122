/** A small app that covers everything a client can use, with a component, a scheduler and HTTP actions. */
import { defineRateLimits, MINUTE } from "convex-rate-limits/component";
import { rateLimitLive } from "convex-rate-limits/live";
import rateLimits from "convex-rate-limits/test";
import {
  actionGeneric,
  anyApi,
  defineSchema,
  defineTable,
  type FunctionReference,
  type FunctionType,
  httpActionGeneric,
  httpRouter,
  internalMutationGeneric,
  internalQueryGeneric,
  makeFunctionReference,
  mutationGeneric,
  queryGeneric,
} from "convex/server";
import { ConvexError, v } from "convex/values";
import type { App } from "../backend.js";
import { component } from "../../../test/support/places.js";

const schema = defineSchema({ notes: defineTable({ text: v.string() }), other: defineTable({ n: v.number() }) });

const limits = defineRateLimits(
  { write: { kind: "token bucket", rate: 3, period: MINUTE, keyed: true } },
  { component },
);

type Fn<Type extends FunctionType> = FunctionReference<Type, "public", Record<string, unknown>, unknown>;

/** References to the functions below, and to one that does not exist, because a client can send any name. */
export const refs = anyApi["notes"] as unknown as Record<
  "list" | "countOther" | "failQuery" | "echo" | "getRateLimit" | "secret",
  Fn<"query">
> &
  Record<"add" | "addLater" | "cancel" | "addAndFail" | "crash" | "nothing" | "forbidden", Fn<"mutation">> &
  Record<"write" | "getServerTime", Fn<"mutation">> &
  Record<"addMany" | "failAction" | "unknownAction", Fn<"action">>;
export const unreachable = [
  "notes:unknown",
  "notes:secret",
  "notes:notAFunction",
  "notes:constructor",
  "constructor:constructor",
  "nowhere:list",
  "_generated/api:default",
  "../notes:list",
].map((name) => makeFunctionReference<"query">(name));

/** The number of runs of each query. */
export const runs = { list: 0, countOther: 0 };

const notes = {
  list: queryGeneric({
    args: {},
    handler: async (ctx) => {
      runs.list++;
      return (await ctx.db.query("notes").collect()).map(({ text }) => text as string);
    },
  }),
  countOther: queryGeneric(async (ctx) => {
    runs.countOther++;
    return (await ctx.db.query("other").collect()).length;
  }),
  add: mutationGeneric({
    args: { text: v.string() },
    handler: async (ctx, { text }) => await ctx.db.insert("notes", { text }),
  }),
  addMany: actionGeneric({
    args: { texts: v.array(v.string()) },
    handler: async (ctx, { texts }) => {
      for (const text of texts) await ctx.runMutation(refs.add, { text });
      return texts.length;
    },
  }),
  addLater: mutationGeneric({
    args: { text: v.string(), inMs: v.number() },
    handler: async (ctx, { text, inMs }) => await ctx.scheduler.runAfter(inMs, refs.add, { text }),
  }),
  cancel: mutationGeneric({
    args: { job: v.id("_scheduled_functions") },
    handler: async (ctx, { job }) => {
      await ctx.scheduler.cancel(job);
    },
  }),
  addAndFail: mutationGeneric({
    args: {},
    handler: async (ctx) => {
      await ctx.db.insert("notes", { text: "never" });
      throw new ConvexError({ kind: "Full", most: 3n });
    },
  }),
  failQuery: queryGeneric(() => {
    throw new ConvexError("no data");
  }),
  crash: mutationGeneric(() => {
    throw new Error("a bug");
  }),
  failAction: actionGeneric(() => {
    throw new ConvexError({ kind: "Broken" });
  }),
  echo: queryGeneric({ args: { value: v.any() }, handler: (_ctx, { value }) => value as unknown }),
  nothing: mutationGeneric(() => undefined),
  secret: internalQueryGeneric(() => "secret"),
  forbidden: internalMutationGeneric(async (ctx) => {
    await ctx.db.insert("notes", { text: "forbidden" });
  }),
  write: mutationGeneric({
    args: { user: v.string() },
    handler: (ctx, { user }) => limits.rateLimit(ctx, { name: "write", key: user }),
  }),
  ...rateLimitLive(limits).exposeRateLimit("write", { key: (_ctx, requested) => requested ?? "nobody" }),
  notAFunction: "text",
};

const http = httpRouter();
http.route({
  path: "/notes",
  method: "POST",
  handler: httpActionGeneric(async (ctx, request) => {
    const text = await request.text();
    if (text === "") return new Response("empty", { status: 422 });
    const start = () => Promise.reject(new Error("broken"));
    if (text === "broken") return new Response(new ReadableStream({ start }));
    await ctx.runMutation(refs.add, { text });
    const [by, from] = ["x-user", "x-forwarded-for"].map((name) => request.headers.get(name));
    const seen = { text, by, from, query: new URL(request.url).search };
    return Response.json(seen, { status: 201, headers: { "x-limit": "3" } });
  }),
});

const load =
  <Module>(module: Module) =>
  async () =>
    await Promise.resolve(module);

export const app: App = {
  schema,
  modules: { "./_generated/api.js": load({}), "./notes.ts": load(notes), "./http.ts": load({ default: http }) },
  components: { rateLimits: { schema: rateLimits.schema, modules: rateLimits.modules } },
};
