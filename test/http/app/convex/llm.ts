// convex/llm.ts
import { limitHttp } from "convex-rate-limits/http";
import { httpAction } from "./_generated/server";
import { caller, limits } from "./limits";

const ESTIMATE = 4000;

async function unused(response: Response | undefined): Promise<number> {
  if (!response?.ok) return ESTIMATE;
  const { usage } = (await response.clone().json()) as { usage: { total_tokens: number } };
  return ESTIMATE - usage.total_tokens;
}

export const chat = httpAction(
  limitHttp(
    limits,
    { limit: "llmTokens", by: caller, without: "deny", cost: ESTIMATE, refund: unused },
    async (_ctx, request) => await fetch("https://llm.example/v1/chat", { method: "POST", body: await request.text() }),
  ),
);
