// src/app/api/hello/route.ts
import { rateLimitHeaders, tooManyRequests } from "convex-rate-limits/http";
import { enter, unavailable } from "../../../gate";

export async function GET(request: Request): Promise<Response> {
  const limited = await enter(request.headers.get("X-Api-Key"));
  if (!limited) return unavailable();
  if (!limited.status.ok) return tooManyRequests(limited);
  return new Response("Hello", { headers: rateLimitHeaders(limited) });
}
