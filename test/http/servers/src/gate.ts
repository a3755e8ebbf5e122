// src/gate.ts
import { ConvexHttpClient } from "convex/browser";
import { hashKey } from "convex-rate-limits";
import type { LimitedBy } from "convex-rate-limits/http";
import { api } from "../convex/_generated/api";
import { apiLimit } from "../convex/apiLimit";

const convex = new ConvexHttpClient(process.env["CONVEX_URL"] ?? "http://127.0.0.1:3210");

/** Asks the limit for a caller: what `rateLimitHeaders` and `tooManyRequests` take; undefined if Convex cannot be reached. */
export async function enter(apiKey: string | null | undefined): Promise<LimitedBy | undefined> {
  const key = apiKey ? await hashKey(apiKey) : "anonymous";
  try {
    const status = await convex.mutation(api.gate.enter, { secret: process.env["GATE_SECRET"] ?? "", key });
    return { name: "api", key, status, config: apiLimit };
  } catch (error) {
    console.error("The rate limit could not be asked.", error);
    return undefined;
  }
}

export function unavailable(): Response {
  return new Response("Try again in 10 seconds.", { status: 503, headers: { "Retry-After": "10" } });
}
