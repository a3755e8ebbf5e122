import { useEffect, useState } from "react";
import { Lead, Legend } from "../controls.js";
import { type LaneName, type LaneResult } from "../hot/lanes.js";
import type { News, Order } from "../hot/worker.js";
import { useAutoplay } from "../stage/autoplay.js";

const SHARDS = [1, 16, 64];

/** A simulation starts this long after the visitor has stopped sliding. */
const SETTLED_MS = 250;

export function Hot() {
  const [calls, setCalls] = useState(500);
  const [shardsAt, setShardsAt] = useState(1);
  const shards = SHARDS[shardsAt] ?? 1;
  const ours = useSimulation("auto", calls, 1);
  const official = useSimulation("official", calls, shards);
  useAutoplay(
    [
      [
        4000,
        () => {
          setCalls(1000);
        },
      ],
      [
        6000,
        () => {
          setShardsAt(2);
        },
      ],
      [
        6000,
        () => {
          setShardsAt(1);
          setCalls(500);
        },
      ],
    ],
    !ours.isRunning && !official.isRunning,
  );
  // Both charts have one scale, so that their heights can be compared.
  const most = Math.max(1, ...[ours, official].flatMap(({ result }) => result?.slices ?? []).map(totalOf));
  return (
    <div className="flex flex-col gap-4">
      <Lead tryThis="slide to 1,000 calls a second, then give the official component 64 shards.">
        When everybody calls one limit at once, calls that write the same row conflict and may fail; here a hot limit
        splits into more rows by itself.
      </Lead>
      <div className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
        <Slider
          label="Calls a second"
          min={50}
          max={1000}
          step={50}
          value={calls}
          shown={calls.toLocaleString("en")}
          onChange={setCalls}
        />
        <Slider
          label="Shards of the official component"
          min={0}
          max={SHARDS.length - 1}
          step={1}
          value={shardsAt}
          shown={String(shards)}
          onChange={setShardsAt}
        />
      </div>
      <p aria-hidden="true" className="flex flex-wrap gap-x-4 text-xs text-muted">
        <Legend className="bg-go">at once</Legend>
        <Legend className="bg-stop/45">had to run again</Legend>
        <Legend className="bg-stop">failed</Legend>
      </p>
      <Lane title={'This package, shards: "auto"'} simulation={ours} most={most} />
      <Lane
        title={`The official component, ${shards === 1 ? "one shard" : `${shards} shards`}`}
        simulation={official}
        most={most}
      />
      <p role="status" className="min-h-10 text-[13px] leading-5 text-muted">
        {ours.failure ||
          official.failure ||
          "The same calls for both, over four seconds. Simulated, by a model of the platform's source."}
      </p>
    </div>
  );
}

interface Simulation {
  /** The result at these settings. Undefined until it is there: a result of other settings would be read as theirs. */
  result: LaneResult | undefined;
  isRunning: boolean;
  failure: string;
}

/** The end of a simulation: a run is the same each time, so the page keeps its result. */
type End = { result: LaneResult } | { failure: string };

/** Simulates a lane in its own thread. A simulation with outdated settings is stopped. */
function useSimulation(lane: LaneName, calls: number, shards: number): Simulation {
  const setting = `${calls} calls, ${shards} shards`;
  const [ends, setEnds] = useState<Record<string, End>>({});
  const end = ends[setting];
  const isRunning = end === undefined;
  useEffect(() => {
    if (!isRunning) return;
    let worker: Worker | undefined;
    const finish = (end: End) => {
      setEnds((before) => ({ ...before, [setting]: end }));
    };
    const fail = (message: string) => {
      finish({ failure: `The simulator has failed: ${message}` });
    };
    const timer = setTimeout(() => {
      worker = new Worker(new URL("../hot/worker.ts", import.meta.url), { type: "module" });
      worker.onmessage = ({ data: news }: MessageEvent<News>) => {
        if ("error" in news) fail(news.error);
        else finish({ result: news.result });
      };
      worker.onerror = ({ message }) => {
        fail(message);
      };
      worker.postMessage({ lane, calls, shards } satisfies Order);
    }, SETTLED_MS);
    return () => {
      clearTimeout(timer);
      worker?.terminate();
    };
  }, [lane, calls, shards, setting, isRunning]);
  return {
    result: end && "result" in end ? end.result : undefined,
    failure: end && "failure" in end ? end.failure : "",
    isRunning,
  };
}

function totalOf({ first, again, failed }: LaneResult["slices"][number]): number {
  return first + again + failed;
}

function Lane({
  title,
  simulation: { result, isRunning },
  most,
}: {
  title: string;
  simulation: Simulation;
  most: number;
}) {
  const share = result?.failed ?? 0;
  const percent = `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
  const details = result && [
    `${result.attemptsPerCall.toFixed(2)} attempts a call`,
    `p99 ${Math.round(result.p99Ms).toLocaleString("en")} ms`,
    `${result.rowsAtEnd} ${result.rowsAtEnd === 1 ? "row" : "rows"}`,
  ];
  return (
    <div role="group" aria-label={title} aria-busy={isRunning}>
      <p className="flex items-baseline justify-between gap-x-3 text-sm">
        <span className="font-medium">{title}</span>
        <span
          className={`shrink-0 text-lg font-bold ${result === undefined ? "text-muted" : share > 0 ? "text-stop" : "text-go"}`}
        >
          {isRunning ? "…" : result ? `${percent} failed` : ""}
        </span>
      </p>
      <p className="text-[13px] text-muted">{isRunning ? "Simulating …" : (details?.join(" · ") ?? "")}</p>
      <div aria-hidden="true" className="mt-1.5 flex h-24 items-end gap-px rounded-md bg-well/60 px-1 pt-1">
        {result?.slices.map(({ first, again, failed }, index) => (
          <span key={index} className="flex h-full min-w-0 flex-1 flex-col justify-end">
            <span className="bg-stop" style={{ height: `${(failed / most) * 100}%` }} />
            <span className="bg-stop/45" style={{ height: `${(again / most) * 100}%` }} />
            <span className="bg-go" style={{ height: `${(first / most) * 100}%` }} />
          </span>
        ))}
      </div>
    </div>
  );
}

function Slider({
  label,
  shown,
  value,
  onChange,
  ...range
}: {
  label: string;
  shown: string;
  value: number;
  min: number;
  max: number;
  step: number;
  onChange: (value: number) => void;
}) {
  return (
    <label className="block text-sm">
      <span className="flex justify-between">
        <span className="text-muted">{label}</span>
        <span className="font-semibold">{shown}</span>
      </span>
      <input
        type="range"
        {...range}
        value={value}
        aria-valuetext={shown}
        className="mt-1 w-full accent-[var(--go)]"
        onChange={({ target }) => {
          onChange(Number(target.value));
        }}
      />
    </label>
  );
}
