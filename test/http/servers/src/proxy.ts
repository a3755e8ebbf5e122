// src/proxy.ts
import { tooManyRequests } from "convex-rate-limits/http";
import { enter, unavailable } from "./gate";

export const config = { matcher: "/api/:path*" };

/** Next.js goes on where nothing is returned. */
export async function proxy(request: Request): Promise<Response | undefined> {
  const limited = await enter(request.headers.get("X-Api-Key"));
  if (!limited) return unavailable();
  return limited.status.ok ? undefined : tooManyRequests(limited);
}
