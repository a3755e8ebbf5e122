/** What was taken for a request that should not have counted goes back once the handler has answered. */
import { type LimitedRequests, withSnapshots } from "./ask.js";
import type { HttpCtx } from "./ctx.js";
import type { LimitHttpOptions } from "./options.js";
import { tell } from "./report.js";
import type { LimitedBy } from "./quota.js";

/** The handler's response, and the limits as they stand then. @throws what the handler throws, after the refund. */
export async function refundAfter(
  options: LimitHttpOptions,
  asked: LimitedRequests,
  ctx: HttpCtx,
  request: Request,
  handle: () => Promise<Response>,
): Promise<{ response: Response; limited: readonly LimitedBy[] }> {
  let response: Response;
  try {
    response = await handle();
  } catch (error) {
    await refund(options, asked, ctx, request, undefined);
    throw error;
  }
  return { response, limited: await refund(options, asked, ctx, request, response) };
}

async function refund(
  options: LimitHttpOptions,
  asked: LimitedRequests,
  ctx: HttpCtx,
  request: Request,
  response: Response | undefined,
): Promise<readonly LimitedBy[]> {
  const { limited, requests } = asked;
  const { giveBack } = options.consume;
  // What a limit in shadow has denied was not taken.
  const taken = requests.filter(({ count }, i) => count > 0 && limited[i]?.status.shadow?.ok !== false);
  try {
    if (!giveBack || taken.length === 0 || !(await isRefunded(options, response, request))) return limited;
    // An adjustment has no mode, and says when instead of whether.
    const { statuses } = await giveBack(
      ctx,
      taken.map((each) => {
        const status = limited.find(({ name }) => name === each.name)?.status;
        // Of a `consume` of the app's own that does not say when it took them, none come back.
        const request = { ...each, takenAt: (status?.ok && status.takenAt) || 0 };
        delete request.mode;
        delete request.refundable;
        return request;
      }),
    );
    const settled = limited.map((limit) => {
      const status = statuses[taken.findIndex(({ name }) => name === limit.name)];
      const { shadow } = limit.status;
      return status ? { ...limit, status: { ...status, ...(shadow && { shadow }) } } : limit;
    });
    return await withSnapshots(options, { limited: settled, requests }, ctx, request);
  } catch (error) {
    // The request has been served, and counts: that is not the client's business.
    await tell(options.report, error, request);
    return limited;
  }
}

async function isRefunded(
  { refund: rule }: LimitHttpOptions,
  response: Response | undefined,
  request: Request,
): Promise<boolean> {
  if (typeof rule === "function") return await rule(response, request);
  const failed = response === undefined || response.status >= 400;
  return rule === "failed" ? failed : rule === "successful" && !failed;
}
