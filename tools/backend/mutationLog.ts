/**
 * The results of each client's mutations. If a connection is lost with an answer, the client sends the mutation again, and gets
 * the stored result: the mutation does not run twice. A client's mutations run one after another, in the order in which they were sent.
 */
import type { Outcome } from "./backend.js";
import { nextTimestamp } from "./timestamps.js";

interface Entry {
  readonly outcome: Outcome;
  /** When it was committed. */
  readonly ts: bigint;
}

/** Results kept for each client: far more than can be pending at once. */
const KEPT_ANSWERS = 1000;
/** Clients whose results are kept. Older clients have long given up. */
const KEPT_CLIENTS = 100;

export class MutationLog {
  private readonly clients = new Map<string, Map<number, Promise<Entry>>>();

  once(sessionId: string, requestId: number, execute: () => Promise<Outcome>): Promise<Entry> {
    const answers = this.clients.get(sessionId) ?? new Map<number, Promise<Entry>>();
    // The map is ordered by last use: this client becomes the last entry.
    this.clients.delete(sessionId);
    this.clients.set(sessionId, answers);
    dropOldest(this.clients, KEPT_CLIENTS);

    const known = answers.get(requestId);
    if (known) return known;
    const before = [...answers.values()].at(-1);
    const answer = runAfter(before, execute);
    answers.set(requestId, answer);
    dropOldest(answers, KEPT_ANSWERS);
    return answer;
  }
}

async function runAfter(before: Promise<unknown> | undefined, execute: () => Promise<Outcome>): Promise<Entry> {
  await before;
  const outcome = await execute();
  return { outcome, ts: nextTimestamp() };
}

function dropOldest(map: Map<unknown, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
