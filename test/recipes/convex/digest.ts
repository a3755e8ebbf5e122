// convex/digest.ts
import { vWorkflowId, type WorkflowId, WorkflowManager } from "@convex-dev/workflow";
import { defineRateLimits, MINUTE } from "convex-rate-limits/component";
import { v } from "convex/values";
import { components, internal } from "./_generated/api";
import { internalAction, mutation } from "./_generated/server";

const workflows = new WorkflowManager(components.workflow);
const limits = defineRateLimits(
  { digest: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 2, maxReserved: 600, keyed: false } },
  { component: components.rateLimits },
);

/** Each page waits for its token: the step runs at that time, whatever is restarted meanwhile. */
export const digest = workflows
  .define({ args: { pages: v.array(v.string()) } })
  .handler(async (step, { pages }): Promise<void> => {
    // A deploy may change the limit, which is an argument of the step.
    const lenient = step.withOptions({ unstableArgs: true });
    for (const page of pages) {
      const { retryAt } = await limits.rateLimit(lenient, { name: "digest", reserve: true, throws: true });
      await step.runAction(internal.digest.read, { page }, retryAt === undefined ? {} : { runAt: retryAt });
    }
  });

export const start = mutation({
  args: { pages: v.array(v.string()) },
  returns: vWorkflowId,
  handler: async (ctx, args): Promise<WorkflowId> => await workflows.start(ctx, internal.digest.digest, args),
});

export const read = internalAction({
  args: { page: v.string() },
  returns: v.null(),
  handler: async (_ctx, { page }) => {
    await fetch(page);
    return null;
  },
});
