/** Many clients that call at equal intervals. */
import type { ConvexClient, ConvexHttpClient } from "convex/browser";
import type { FunctionArgs, FunctionReference, FunctionReturnType } from "convex/server";
import type { Load, Prover } from "./check.js";
import { sleep } from "./sleep.js";

/** How long a call may take. A call that the platform has not answered by then has failed. */
export const MOST_MS = 5000;

export type AnyClient = { socket: ConvexClient } | { http: ConvexHttpClient };

/** Calls a mutation without waiting for earlier calls of the same client. */
export function mutate<Mutation extends FunctionReference<"mutation">>(
  client: AnyClient,
  mutation: Mutation,
  args: FunctionArgs<Mutation>,
): Promise<FunctionReturnType<Mutation>> {
  // The client's types cannot see that a mutation without arguments is none of these.
  const all = [mutation as FunctionReference<"mutation">, args as Record<string, unknown>] as const;
  const answer: Promise<unknown> =
    "http" in client ? client.http.mutation(...all, { skipQueue: true }) : client.socket.mutation(...all);
  return answer;
}

/** Makes calls at equal intervals, without waiting for earlier answers. Half of the clients use HTTP. */
export async function load<Answer>(
  prover: Prover,
  { clients, perSecond, seconds }: Load,
  call: (client: AnyClient, n: number) => Promise<Answer>,
) {
  const opened = prover.open(clients);
  const all: AnyClient[] = [...opened.sockets.map((socket) => ({ socket })), ...opened.https.map((http) => ({ http }))];
  const calls = perSecond * seconds;
  const answers: Answer[] = [];
  const latencies: number[] = [];
  const pending: Promise<void>[] = [];
  let firstError = "";
  const start = performance.now();
  for (let n = 0; n < calls && !prover.signal.aborted; n++) {
    const wait = start + (n * 1000) / perSecond - performance.now();
    if (wait > 1) await sleep(wait);
    const client = all[n % all.length];
    if (!client) break;
    const askedAt = performance.now();
    pending.push(
      call(client, n).then(
        (answer) => {
          answers.push(answer);
          latencies.push(performance.now() - askedAt);
        },
        // A failed call is not in `answers`.
        (error: unknown) => {
          firstError ||= `; ${String(error).slice(0, 200)}`;
        },
      ),
    );
  }
  await Promise.race([Promise.all(pending), sleep(MOST_MS)]);
  await Promise.all(opened.sockets.map((socket) => socket.close()));
  return { answers: [...answers], latencies: [...latencies], calls, firstError };
}
