/** Configs of limits with tokens: those of slots have no rate, and laws of their own (test/oracle/slots.test.ts). */
import type { RateLimitConfig } from "convex-rate-limits";

export type TokensConfig = Exclude<RateLimitConfig, { kind: "concurrency" }>;
