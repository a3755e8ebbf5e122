// src/proxy.ts
import { tooManyRequests } from "convex-rate-limits/http";
import { enter } from "./gate";

export const config = { matcher: "/api/:path*" };

/** Next.js goes on where nothing is returned. */
export async function proxy(request: Request): Promise<Response | undefined> {
  const limited = await enter(request.headers.get("X-Api-Key"));
  return limited.status.ok ? undefined : tooManyRequests(limited);
}
