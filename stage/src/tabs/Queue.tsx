import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { api } from "../../convex/_generated/api.js";
import { Answer, CallButton, Choice, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { useAnswer } from "../stage/useAnswer.js";
import { useServerTime } from "../useServerTime.js";
import { amount, problem, wait } from "../words.js";
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

type Task = FunctionReturnType<typeof api.stage.queue.tasks>[number];

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
  const askFor = (jobs: number, tokens: number) =>
    ask({ room, jobs, tokens }).then(() => {
      setAnswer({
        tone: "later",
        text: `${amount(jobs, "job")} of ${amount(tokens, "token")} ${jobs === 1 ? "is" : "are"} in the queue.`,
      });
    }, fail);
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
      <div className="grid grid-cols-2 gap-2 sm:flex">
        <CallButton look="primary" label={`A job of ${JOB_TOKENS} tokens`} onClick={() => askFor(1, JOB_TOKENS)}>
          A job
        </CallButton>
        <CallButton label={`${MANY} jobs of 1 token`} onClick={() => askFor(MANY, 1)}>
          {MANY} jobs
        </CallButton>
        <CallButton
          look="stop"
          label={`Spend ${SPENT} tokens elsewhere`}
          onClick={() =>
            spend({ room, tokens: SPENT }).then(() => {
              setAnswer({ tone: "plain", text: `${SPENT} tokens are gone: everybody waits longer.` });
            }, fail)
          }
        >
          Spend {SPENT}
        </CallButton>
        <CallButton
          look="stop"
          label={`429 for ${BUSY_MS / 1000} s from the provider`}
          onClick={() => breakProvider({ room, ms: BUSY_MS }).catch(fail)}
        >
          429 for {BUSY_MS / 1000} s
        </CallButton>
      </div>
      <Provider />
      <Answer tone={answer?.tone ?? "plain"}>{answer?.text ?? "No job yet."}</Answer>
      <Places tasks={tasks} onCancel={cancelTask} />
    </>
  );
}

/** Shows what the fake provider answers now, and whether the queue waits for it. */
function Provider() {
  const until = useQuery(api.stage.queue.busyUntil, { room });
  const pausedUntil = useQuery(api.stage.queue.bucket, { key: room })?.pausedUntil;
  const now = useServerTime(200);
  return (
    <p className="text-sm text-muted">
      The provider answers{" "}
      {until !== undefined && until > now ? (
        <span className="font-medium text-stop">429 for {wait(until - now)}</span>
      ) : (
        <span className="font-medium text-go">200</span>
      )}
      .{" "}
      {pausedUntil !== undefined && pausedUntil > now && (
        <span className="font-medium text-stop">The queue is paused for {wait(pausedUntil - now)}.</span>
      )}
    </p>
  );
}

function Places({ tasks, onCancel }: { tasks: Task[] | undefined; onCancel: (task: Task) => unknown }) {
  const now = useServerTime(200);
  return (
    <div className="h-80 border-t border-line">
      {tasks === undefined && <div className="skeleton h-full" aria-busy="true" />}
      {tasks?.length === 0 && <p className="py-3 text-sm text-muted">Nothing waits yet.</p>}
      <ol aria-label="The latest jobs">
        {tasks?.map((task) => (
          <Place key={task._id} task={task} now={now} onCancel={onCancel} />
        ))}
      </ol>
    </div>
  );
}

function Place({ task, now, onCancel }: { task: Task; now: number; onCancel: (task: Task) => unknown }) {
  const { _id, number, tokens, startedAt, isCancelled, denied = 0 } = task;
  const again = denied > 0 ? `, run ${denied + 1}` : "";
  const place = useQuery(api.stage.queue.getQueued, isWaiting(task) ? { job: _id } : "skip");
  return (
    <li className="flex h-13 items-center gap-3 border-b border-line text-sm">
      <p className="w-20 shrink-0">
        <span className="block font-medium">Job {number}</span>
        <span className="block text-xs text-muted">{amount(tokens, "token")}</span>
      </p>
      <div className="min-w-0 flex-1">
        {isCancelled ? (
          <p className="text-muted">cancelled</p>
        ) : startedAt !== undefined ? (
          <p className="text-go">answered{again}</p>
        ) : place === undefined ? (
          <p className="text-muted">…</p>
        ) : place === null ? (
          <p className="text-go">starts within a second</p>
        ) : (
          <>
            <p className="leading-tight">
              {placeOf(place)}
              {denied > 0 && <span className="text-stop"> · got 429, runs again</span>}
            </p>
            <p className="text-xs text-later">
              {place.startsAt === undefined ? "later" : `in about ${wait(place.startsAt - now)}`}
            </p>
          </>
        )}
      </div>
      {place && isWaiting(task) && (
        <CallButton isSmall label={`Cancel job ${number}`} onClick={() => onCancel(task)}>
          Cancel
        </CallButton>
      )}
    </li>
  );
}

function isWaiting({ startedAt, isCancelled }: Task): boolean {
  return startedAt === undefined && !isCancelled;
}

function placeOf({ ahead, startsAt }: { ahead?: number | undefined; startsAt?: number | undefined }): string {
  if (ahead === undefined) return "has its start time";
  if (startsAt === undefined) return `${ahead} or more go first`;
  return ahead === 0 ? "the next one" : `${ahead} ${ahead === 1 ? "goes" : "go"} first`;
}
