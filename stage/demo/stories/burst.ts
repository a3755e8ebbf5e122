import { isRateLimitError, MINUTE } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import { api } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { sleepUntil } from "../clock.js";
import { overdraft, type Start } from "../laws.js";
import { signUp } from "../people.js";
import { check, heading, since, table } from "../report.js";

/** More than the limit can let through while the demo runs. If nothing is ever denied, the story still ends. */
const ATTEMPTS = 200;
const LIMIT = { rate: 60, period: MINUTE, capacity: 5 };

export async function burst(backend: Backend): Promise<void> {
  heading("A burst and its refill", "sendMessage: 60 a minute, at most 5 at once, for each author");
  const [author, to] = [await signUp(backend, "Ada"), await signUp(backend, "Bob")];

  const start = Date.now();
  const sent: Start[] = [];
  const rows = [["when", "message", ""]];
  /** Sends one message. Returns when to try again, or undefined if it was sent. */
  const send = async (): Promise<number | undefined> => {
    const before = Date.now();
    try {
      await backend.mutation(api.messages.send, { author, to, body: `Message ${sent.length + 1}` });
    } catch (error) {
      if (!isRateLimitError(error)) throw error;
      rows.push([since(start, before), "denied", `try again at ${since(start, error.data.retryAt)}`]);
      return error.data.retryAt;
    }
    sent.push({ earliest: before, latest: Date.now(), tokens: 1 });
    rows.push([since(start, before), "sent", ""]);
    return undefined;
  };

  let retryAt: number | undefined;
  while (retryAt === undefined && sent.length < ATTEMPTS) retryAt = await send();
  const snapshot = await backend.query(api.messages.quota, { author });
  if (retryAt !== undefined) await sleepUntil(retryAt);
  const second = await send();
  table(rows);

  check("the burst ends with a denial that says when to come back", retryAt !== undefined);
  const excess = overdraft(sent, LIMIT);
  check("no more than 5 plus one a second were sent", excess === undefined, excess);
  if (retryAt === undefined) return;
  check(
    "1 ms before that time the call would still be denied, at that time it would not",
    !projectRateLimit(snapshot, { now: retryAt - 1 }).ok && projectRateLimit(snapshot, { now: retryAt }).ok,
    snapshot,
  );
  check("a call that waited until that time is allowed", second === undefined, second);
}
