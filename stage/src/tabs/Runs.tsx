import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { api } from "../../convex/_generated/api.js";
import { Answer, CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { useAnswer } from "../stage/useAnswer.js";
import { useServerTime } from "../useServerTime.js";
import { problem, wait } from "../words.js";

type Run = FunctionReturnType<typeof api.stage.runs.runs>[number];

/** Two runs at once. A run frees its slot, or its lease ends. */
export function Runs() {
  const now = useServerTime(200);
  const runs = useQuery(api.stage.runs.runs, { room })?.filter(
    ({ state, lease }) => state !== "ended" && lease.until > now,
  );
  const begin = useMutation(api.stage.runs.begin);
  const end = useMutation(api.stage.runs.end);
  const kill = useMutation(api.stage.runs.kill);
  const serverNow = useServerNow();
  const [answer, setAnswer] = useAnswer();
  const fail = (error: unknown) => {
    setAnswer({ tone: "stop", text: problem(error, serverNow()) });
  };
  const beginOne = () =>
    begin({ room }).then(({ ok, retryAt = 0 }) => {
      setAnswer(
        ok
          ? { tone: "go", text: "It runs, and holds a slot." }
          : { tone: "stop", text: `Both slots are taken. The first lease ends in ${wait(retryAt - serverNow())}.` },
      );
    }, fail);
  const endOne = ({ _id: run, number }: Run) =>
    end({ run }).then(() => {
      setAnswer({ tone: "go", text: `Run ${number} has ended: its slot is free.` });
    }, fail);
  const killOne = ({ _id: run, number }: Run) =>
    kill({ run }).then(() => {
      setAnswer({ tone: "later", text: `Run ${number} died. Its slot is free when the lease ends.` });
    }, fail);
  useAutoplay([
    [0, beginOne],
    [900, beginOne],
    [1200, beginOne],
    [
      2000,
      () => {
        const [first] = runs ?? [];
        if (first) void endOne(first);
      },
    ],
    [1200, beginOne],
    [6000, () => undefined],
  ]);

  return (
    <>
      <Lead tryThis="start three runs, end one, and start the third again; then kill one and watch its lease.">
        At most two runs at once: a run that ends frees its slot, and the slot of one that died is free when the lease
        ends.
      </Lead>
      <div className="flex">
        <CallButton look="primary" onClick={beginOne}>
          Start a run
        </CallButton>
      </div>
      <Answer tone={answer?.tone ?? "plain"}>{answer?.text}</Answer>
      <div className="h-80 border-t border-line">
        {runs === undefined && <div className="skeleton h-full" aria-busy="true" />}
        {runs?.length === 0 && <p className="py-3 text-sm text-muted">Both slots are free.</p>}
        <ol aria-label="The runs that hold a slot">
          {runs?.map((run) => (
            <li key={run._id} className="flex h-13 items-center gap-3 border-b border-line text-sm">
              <p className="w-20 shrink-0 font-medium">Run {run.number}</p>
              <div className="min-w-0 flex-1">
                <p className={run.state ? "text-stop" : "text-go"}>{run.state ? "died" : "runs"}</p>
                <p className="text-xs text-later">lease ends in {wait(run.lease.until - now)}</p>
              </div>
              {!run.state && (
                <>
                  <CallButton isSmall label={`End run ${run.number}`} onClick={() => endOne(run)}>
                    End
                  </CallButton>
                  <CallButton isSmall look="stop" label={`Kill run ${run.number}`} onClick={() => killOne(run)}>
                    Kill
                  </CallButton>
                </>
              )}
            </li>
          ))}
        </ol>
      </div>
    </>
  );
}
