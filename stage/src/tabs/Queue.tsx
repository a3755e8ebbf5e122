import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import { useRef } from "react";
import { api } from "../../convex/_generated/api.js";
import { Answer, CallButton, Choice, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Gauge } from "../stage/Gauge.js";
import { useAnswer } from "../stage/useAnswer.js";
import { useLimit } from "../stage/useLimit.js";
import { amount, problem, wait } from "../words.js";
import { isWaiting, Places, type Task } from "./Places.js";
import { Promises } from "./Promises.js";
import { Runs } from "./Runs.js";

const WAYS = [
  { value: 0, label: "A queue" },
  { value: 1, label: "A promise" },
  { value: 2, label: "Two at once" },
] as const;

const JOB_TOKENS = 100;
const MANY = 100;
const SPENT = 200;
const BUSY_MS = 5000;

/** Three ways to wait: in a queue that moves up, for a promised time that never changes, or for one of two places. */
export function Queue({ count, view, onView }: { count: number; view: number; onView: (view: number) => void }) {
  return (
    <div className="flex flex-col gap-3">
      <div className="flex">
        <Choice legend="How jobs wait" options={WAYS} value={view} onChange={onView} />
      </div>
      {view === 0 && <Waiting />}
      {view === 1 && <Promises count={count} />}
      {view === 2 && <Runs />}
    </div>
  );
}

function Waiting() {
  const tasks = useQuery(api.stage.queue.tasks, { room });
  const ask = useMutation(api.stage.queue.ask);
  const cancel = useMutation(api.stage.queue.cancel);
  const spend = useMutation(api.stage.queue.spend);
  const breakProvider = useMutation(api.stage.queue.breakProvider);
  const now = useServerNow();
  const [answer, setAnswer] = useAnswer();
  const fail = (error: unknown) => {
    setAnswer({ tone: "stop", text: problem(error, now()) });
  };
  // The number of the last job that this page has asked for, which may not be in the list yet.
  const last = useRef(0);
  const askFor = (jobs: number, tokens: number) => {
    const first = Math.max(last.current, tasks?.at(-1)?.number ?? 0) + 1;
    last.current = first + jobs - 1;
    return ask({ room, first, jobs, tokens }).then(() => {
      setAnswer({
        tone: "later",
        text: `${amount(jobs, "job")} of ${amount(tokens, "token")} ${jobs === 1 ? "is" : "are"} in the queue.`,
      });
    }, fail);
  };
  const cancelTask = ({ _id: task, number }: Task) =>
    cancel({ task }).then((isCancelled) => {
      setAnswer(
        isCancelled
          ? { tone: "go", text: `Job ${number} is cancelled: those behind it move up.` }
          : { tone: "plain", text: `Too late: job ${number} starts within a second, or has started.` },
      );
    }, fail);
  const one = [700, () => askFor(1, JOB_TOKENS)] as const;
  useAutoplay([
    one,
    one,
    one,
    one,
    one,
    [
      2500,
      () => {
        const waiting = tasks?.filter(isWaiting) ?? [];
        const middle = waiting[Math.floor(waiting.length / 2)];
        if (middle) void cancelTask(middle);
      },
    ],
    [2000, () => breakProvider({ room, ms: BUSY_MS }).catch(fail)],
    [9000, () => undefined],
  ]);

  return (
    <>
      <Lead tryThis="add five jobs, press “429 for 5 s”, and see the queue pause and the denied job run again first.">
        Jobs wait in line until the model has tokens for them, and any number of callers may ask at once.
      </Lead>
      <div className="flex flex-wrap gap-2">
        <CallButton isSmall look="primary" disabled={!tasks} onClick={() => askFor(1, JOB_TOKENS)}>
          A job of {JOB_TOKENS} tokens
        </CallButton>
        <CallButton isSmall disabled={!tasks} onClick={() => askFor(MANY, 1)}>
          {MANY} jobs of 1 token
        </CallButton>
        <CallButton
          isSmall
          look="stop"
          label={`Spend ${SPENT} tokens elsewhere`}
          onClick={() =>
            spend({ room, tokens: SPENT }).then(() => {
              setAnswer({ tone: "plain", text: `${SPENT} tokens are gone: everybody waits longer.` });
            }, fail)
          }
        >
          Spend {SPENT} tokens
        </CallButton>
        <CallButton
          isSmall
          look="stop"
          label={`429 for ${BUSY_MS / 1000} s from the provider`}
          onClick={() => breakProvider({ room, ms: BUSY_MS }).catch(fail)}
        >
          429 for {BUSY_MS / 1000} s
        </CallButton>
      </div>
      <Provider />
      <Answer tone={answer?.tone ?? "plain"}>{answer?.text}</Answer>
      <Places tasks={tasks} onCancel={cancelTask} />
    </>
  );
}

/** Shows the model's tokens, what the fake provider answers now, and whether the queue waits for it. */
function Provider() {
  const until = useQuery(api.stage.queue.busyUntil, { room });
  const limit = useLimit(api.stage.queue.bucket, room);
  const { now } = limit;
  const pausedUntil = limit.snapshot?.pausedUntil;
  return (
    <>
      <Gauge limit={limit} noun="token" className="h-6" />
      <p className="text-sm text-muted">
        The provider answers{" "}
        {until !== undefined && until > now ? (
          <span className="font-medium text-stop">HTTP 429 for {wait(until - now)}</span>
        ) : (
          <span className="font-medium text-go">HTTP 200</span>
        )}
        .{" "}
        {pausedUntil !== undefined && pausedUntil > now && (
          <span className="font-medium text-stop">The queue is paused for {wait(pausedUntil - now)}.</span>
        )}
      </p>
    </>
  );
}
