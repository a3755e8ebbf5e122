/** A small public HTTP API. Its limit depends on the caller's plan, and each answer says how much is left. */
import { address, type Caller, fromQuery, type HttpCtx, limitHttp } from "convex-rate-limits/http";
import { hashKey } from "convex-rate-limits/component";
import { httpRouter } from "convex/server";
import { internal } from "./_generated/api";
import { type ActionCtx, httpAction } from "./_generated/server";
import { limits } from "./limits";

/** One proxy stands in front of a deployment on Convex Cloud. Without one, as on a laptop, all callers share a bucket. */
const byAddress = address({ trustedProxies: 1 });

/** The owner of an issued key, also with several keys; else the address, so that guessing keys is not free. */
async function identify(ctx: HttpCtx, request: Request): Promise<Caller> {
  const key = request.headers.get("X-Api-Key");
  const owner = key && (await ctx.runQuery(internal.apiKeys.find, { hash: await hashKey(key) }));
  if (owner) return { key: owner.caller, plan: owner.plan };
  const from = await byAddress.keyOf(ctx, request);
  return from === undefined ? { without: "share", plan: "anonymous" } : { key: from, plan: "anonymous" };
}

const DEFAULT_COUNT = 10;
/** A request costs as many tokens as it reads messages. */
const cost = fromQuery("count", { default: DEFAULT_COUNT, max: 50 });

const http = httpRouter();

http.route({
  path: "/api/messages",
  method: "GET",
  handler: httpAction(
    limitHttp(
      limits,
      { limit: "apiMessages", identify, cost, jitter: 0.5 },
      async (ctx: ActionCtx, _request, [limited]) => {
        const count = limited?.count ?? DEFAULT_COUNT;
        return Response.json(await ctx.runQuery(internal.messages.page, { count }));
      },
    ),
  ),
});

export default http;
