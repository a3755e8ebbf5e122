// src/proxy.ts
import { tooManyRequests } from "convex-rate-limits/http";
import { enter, unavailable } from "./gate";

/** Not the route handler above: it asks by itself, and each of the two would count. */
export const config = { matcher: "/api/((?!hello$).*)" };

/** Next.js goes on where nothing is returned. */
export async function proxy(request: Request): Promise<Response | undefined> {
  // Browsers send a preflight by themselves.
  if (request.method === "OPTIONS") return undefined;
  const limited = await enter(request.headers.get("X-Api-Key"));
  if (!limited) return unavailable();
  return limited.status.ok ? undefined : tooManyRequests(limited);
}
