import { useMutation, useQuery } from "convex/react";
import { useQueuePlace, useRateLimit } from "convex-rate-limits/react";
import { api } from "../convex/_generated/api";
import type { Id } from "../convex/_generated/dataModel";
import { Line } from "./Line";

const { ask, cancel, getQueued, getRateLimit, getServerTime, latest } = api.llm;

export function Questions() {
  const questions = useQuery(latest) ?? [];
  const askQuestion = useMutation(ask);
  // With `count: 0` it says what is left, not what would be left after a question.
  const { status, limit } = useRateLimit(getRateLimit, { count: 0, getServerTime });
  return (
    <section aria-label="Questions">
      <h2>Questions</h2>
      {status && limit && (
        <p>
          {status.remaining} of {limit.tokens} tokens are left today ({limit.plan}).
        </p>
      )}
      <Line label="A question" button="Ask" isEnabled onSubmit={(prompt) => askQuestion({ prompt })} />
      <ul>
        {questions.map(({ _id, prompt, status: state, answer }) => (
          <li key={_id}>
            {prompt} {state === "waiting" ? <Place question={_id} /> : <em>{answer ?? state}</em>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Place({ question }: { question: Id<"questions"> }) {
  const place = useQueuePlace(getQueued, question, { getServerTime });
  const cancelQuestion = useMutation(cancel);
  if (!place) return <em>starts now</em>;
  return (
    <em>
      {place.ahead ?? 0} ahead, starts in about {place.seconds ?? "…"} s{" "}
      <button type="button" onClick={() => void cancelQuestion({ question })}>
        Cancel
      </button>
    </em>
  );
}
