// convex/stream.ts
import { limitHttp } from "convex-rate-limits/http";
import { httpAction } from "./_generated/server";
import { caller, limits } from "./limits";

export const stream = httpAction(
  limitHttp(
    limits,
    // The refund is 0 now; it keeps the date of the tokens for the refund at the stream's end.
    { limit: "llmTokens", by: caller, without: "deny", cost: 4000, refund: () => 0 },
    async (ctx, request, [limited]) => {
      const answer = await fetch("https://llm.example/v1/stream", { method: "POST", body: await request.text() });
      let used = 0;
      const counter = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          used += chunk.length / 4; // a guess: about four bytes are a token
          controller.enqueue(chunk);
        },
        async flush() {
          const { key, status } = limited ?? {};
          const takenAt = status?.ok ? status.takenAt : undefined;
          await limits.adjustRateLimit(ctx, { name: "llmTokens", key, count: Math.ceil(used) - 4000, takenAt });
        },
      });
      return new Response(answer.body?.pipeThrough(counter));
    },
  ),
);
