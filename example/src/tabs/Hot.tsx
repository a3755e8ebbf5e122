import { useEffect, useRef, useState } from "react";
import { Lead } from "../controls.js";
import { LANES, type LaneName, type LaneResult } from "../hot/lanes.js";
import type { News, Order } from "../hot/worker.js";
import { useAutoplay } from "../stage/autoplay.js";

const ROWS = [1, 4, 16, 64];

/** What the worker is started with, after the visitor has stopped sliding. */
const SETTLED_MS = 250;

export function Hot() {
  const [calls, setCalls] = useState(400);
  const [rowsAt, setRowsAt] = useState(0);
  const rows = ROWS[rowsAt] ?? 1;
  const { results, failure } = useSimulation(calls, rows);
  useAutoplay([
    [
      2500,
      () => {
        setRowsAt(1);
      },
    ],
    [
      5000,
      () => {
        setRowsAt(2);
      },
    ],
    [
      5000,
      () => {
        setCalls(800);
      },
    ],
    [
      5000,
      () => {
        setRowsAt(0);
        setCalls(400);
      },
    ],
  ]);
  const titles: Record<LaneName, string> = {
    fixed: `This package, ${rows === 1 ? "one row" : `at most ${rows} rows`}`,
    auto: 'This package, shards: "auto"',
    official: `The official component, ${rows === 1 ? "one shard" : `${rows} shards`}`,
  };
  return (
    <div className="flex flex-col gap-4">
      <Lead tryThis="slide to 1,000 calls a second, and compare what failed.">
        Calls that write one row at the same time conflict, run again and may fail; a hot limit splits over more rows by
        itself.
      </Lead>
      <div className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
        <Slider
          label="Calls a second"
          min={50}
          max={1000}
          step={50}
          value={calls}
          shown={String(calls)}
          onChange={setCalls}
        />
        <Slider
          label="Rows"
          min={0}
          max={ROWS.length - 1}
          step={1}
          value={rowsAt}
          shown={String(rows)}
          onChange={setRowsAt}
        />
      </div>
      <p aria-hidden="true" className="flex flex-wrap gap-x-4 text-xs text-muted">
        <Key className="bg-go">at once</Key>
        <Key className="bg-stop/45">had to run again</Key>
        <Key className="bg-stop">failed</Key>
      </p>
      {LANES.map((lane) => (
        <Lane key={lane} title={titles[lane]} result={results[lane]} />
      ))}
      <p role="status" className="min-h-10 text-[13px] leading-5 text-muted">
        {failure ||
          "Same calls for all three. The times of execution are assumptions; conflicts, retries and permits are the platform's."}
      </p>
    </div>
  );
}

function useSimulation(calls: number, rows: number) {
  const [results, setResults] = useState<Partial<Record<LaneName, LaneResult>>>({});
  const [failure, setFailure] = useState("");
  const worker = useRef<Worker>(undefined);
  const id = useRef(0);
  useEffect(() => {
    const started = new Worker(new URL("../hot/worker.ts", import.meta.url), { type: "module" });
    started.onmessage = ({ data: news }: MessageEvent<News>) => {
      if (news.id !== id.current) return;
      if ("error" in news) setFailure(`The simulation of "${news.lane}" has failed: ${news.error}`);
      else setResults((before) => ({ ...before, [news.result.lane]: news.result }));
    };
    started.onerror = ({ message }) => {
      setFailure(`The simulator has failed: ${message}`);
    };
    worker.current = started;
    return () => {
      started.terminate();
    };
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      setResults({});
      setFailure("");
      worker.current?.postMessage({ id: ++id.current, calls, rows } satisfies Order);
    }, SETTLED_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [calls, rows]);
  return { results, failure };
}

function Lane({ title, result }: { title: string; result: LaneResult | undefined }) {
  const most = Math.max(1, ...(result?.slices ?? []).map(({ first, again, failed }) => first + again + failed));
  const percent = (share: number) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
  const says = result
    ? [
        `${result.attemptsPerCall.toFixed(2)} attempts a call`,
        `${percent(result.failed)} failed`,
        `p99 ${Math.round(result.p99Ms)} ms`,
        `${result.rowsAtEnd} ${result.rowsAtEnd === 1 ? "row" : "rows"}`,
      ].join(" · ")
    : "Running…";
  return (
    <div role="group" aria-label={title}>
      <p className="flex flex-wrap justify-between gap-x-3 text-sm">
        <span className="font-medium">{title}</span>
        <span className="text-[13px] text-muted">{says}</span>
      </p>
      <div aria-hidden="true" className="mt-1.5 flex h-20 items-end gap-px rounded-md bg-well/60 px-1 pt-1">
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

function Key({ className, children }: { className: string; children: string }) {
  return (
    <span className="flex items-center gap-1.5">
      <span className={`size-2.5 rounded-xs ${className}`} />
      {children}
    </span>
  );
}
