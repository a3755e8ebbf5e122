// convex/quota.ts
import { limits } from "./limits";
import { callerOf } from "./messages";

export const { getRateLimit, getServerTime } = limits.exposeRateLimit("sendMessage", { key: callerOf });
