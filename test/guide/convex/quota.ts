// convex/quota.ts
import { exposeRateLimit } from "./limits";
import { callerOf } from "./messages";

export const { getRateLimit, getServerTime } = exposeRateLimit("sendMessage", { key: callerOf });
