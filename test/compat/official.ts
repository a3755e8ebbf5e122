/** A backend with both components, and a limiter of each. */
import { RateLimiter as Official } from "@convex-dev/rate-limiter";
import type { ComponentApi as OfficialApi } from "@convex-dev/rate-limiter/_generated/component.js";
import official from "@convex-dev/rate-limiter/test";
import { RateLimiter, type RateLimitConfig } from "convex-rate-limits/compat";
import { componentsGeneric } from "convex/server";
import { type Backend, component, openBackend } from "../support/places.js";

const officialComponent = (componentsGeneric() as unknown as { rateLimiter: OfficialApi }).rateLimiter;

export function openBoth(): Backend {
  const t = openBackend();
  official.register(t);
  return t;
}

export function limiters(limits: Record<string, RateLimitConfig>) {
  return { ours: new RateLimiter(component, limits), theirs: new Official(officialComponent, limits) };
}
