// convex/http.ts
import { httpRouter } from "convex/server";
import { type ActionCtx, httpAction } from "./_generated/server";
import { createAuth } from "./auth";

const http = httpRouter();
http.route({
  pathPrefix: "/api/auth/",
  method: "POST",
  handler: httpAction(async (ctx: ActionCtx, request) => await createAuth(ctx).handler(request)),
});

export default http;
