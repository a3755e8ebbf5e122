import { projectRateLimit, type RateLimitSnapshot } from "convex-rate-limits";
import { type ReactNode, useMemo } from "react";
import {
  Area,
  AreaChart,
  Bar,
  BarChart,
  CartesianGrid,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { useMoment } from "../useMoment.js";

const SECONDS = 60;
/** A full column of calls, when there are fewer: one call must not look like a storm. */
const FEWEST_CALLS = 5;

/** What happened in one second. */
interface Second {
  second: number;
  admitted: number;
  reserved: number;
  denied: number;
  value: number;
  ts: number;
}

/** The last minute: what the bucket held, and below it what became of the calls. */
export function MinuteChart({
  snapshot,
  history,
}: {
  snapshot: RateLimitSnapshot | undefined;
  history: readonly Second[] | undefined;
}) {
  const thisSecond = Math.floor(useMoment(250) / 1000);
  const rows = useMemo(
    () => (snapshot && history ? lastMinute(snapshot, history, thisSecond) : undefined),
    [snapshot, history, thisSecond],
  );
  const isQuiet = rows?.every(({ admitted, reserved, denied }) => admitted + reserved + denied === 0);
  return (
    <figure className="min-w-0">
      <figcaption className="mb-2 flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
        <span className="font-medium text-ink">The last minute</span>
        <Key className="bg-go/20 ring-1 ring-go ring-inset">tokens</Key>
        <Key className="bg-go">admitted</Key>
        <Key className="bg-later">reserved</Key>
        <Key className="bg-stop">denied</Key>
      </figcaption>
      <div className="relative h-60">
        {rows && snapshot ? <Charts rows={rows} snapshot={snapshot} /> : <Loading />}
        {isQuiet && (
          <p className="pointer-events-none absolute inset-x-0 top-24 text-center text-sm text-muted">
            <span className="rounded-md bg-card px-2 py-1">No calls in the last minute. Send one.</span>
          </p>
        )}
      </div>
    </figure>
  );
}

function Loading() {
  return <div className="skeleton absolute inset-0" aria-busy="true" />;
}

type Row = ReturnType<typeof lastMinute>[number];

function Charts({ rows, snapshot: { config } }: { rows: Row[]; snapshot: RateLimitSnapshot }) {
  const { capacity = config.rate } = config;
  const lowest = Math.min(0, ...rows.map(({ tokens = 0 }) => Math.floor(tokens)));
  const most = Math.max(FEWEST_CALLS, ...rows.map(({ admitted, reserved, denied }) => admitted + reserved + denied));
  const ticks = [...new Set([lowest, 0, capacity / 2, capacity])];
  return (
    <>
      <Frame height="h-38">
        <AreaChart {...chart} data={rows}>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis dataKey="ago" hide />
          <YAxis
            {...axis}
            domain={[lowest, Math.max(1, capacity)]}
            ticks={ticks}
            tickFormatter={(tokens: number) => String(tokens).replace("-", "−")}
          />
          <ReferenceLine y={0} stroke="var(--muted)" strokeWidth={lowest < 0 ? 1 : 0} />
          <Area
            dataKey="tokens"
            type="linear"
            stroke="var(--go)"
            strokeWidth={1.75}
            fill="var(--go)"
            fillOpacity={0.16}
            isAnimationActive={false}
          />
          <Tooltip {...tooltip} cursor={{ stroke: "var(--muted)" }} />
        </AreaChart>
      </Frame>
      <Frame height="h-22">
        <BarChart {...chart} data={rows} barCategoryGap={1}>
          <XAxis
            {...axis}
            dataKey="ago"
            interval={14}
            axisLine={{ stroke: "var(--line)" }}
            tickFormatter={(ago: number) => (ago === 0 ? "now" : `−${ago} s`)}
          />
          <YAxis {...axis} domain={[0, most]} ticks={[0, most]} />
          <Bar dataKey="admitted" stackId="calls" fill="var(--go)" isAnimationActive={false} />
          <Bar dataKey="reserved" stackId="calls" fill="var(--later)" isAnimationActive={false} />
          <Bar dataKey="denied" stackId="calls" fill="var(--stop)" isAnimationActive={false} />
          <Tooltip {...tooltip} cursor={{ fill: "var(--muted)", fillOpacity: 0.15 }} />
        </BarChart>
      </Frame>
    </>
  );
}

const chart = { syncId: "minute", margin: { top: 6, right: 14, bottom: 0, left: 0 } };
const axis = {
  width: 34,
  tick: { fill: "var(--muted)", fontSize: 11 },
  tickLine: false,
  axisLine: false as boolean | object,
  allowDecimals: false,
};
const tooltip = {
  separator: ": ",
  isAnimationActive: false,
  contentStyle: {
    background: "var(--card)",
    border: "1px solid var(--line)",
    borderRadius: 8,
    fontSize: 12,
    padding: "6px 10px",
  },
  itemStyle: { color: "var(--ink)", padding: 0 },
  labelStyle: { color: "var(--muted)" },
  labelFormatter: (ago: unknown) => (ago === 0 ? "this second" : `${Number(ago)} s ago`),
  formatter: (value: unknown) => (typeof value === "number" ? Math.round(value * 10) / 10 : ""),
};

function Frame({ height, children }: { height: string; children: ReactNode }) {
  return (
    <div className={height}>
      <ResponsiveContainer width="100%" height="100%">
        {children}
      </ResponsiveContainer>
    </div>
  );
}

function Key({ className, children }: { className: string; children: string }) {
  return (
    <span className="flex items-center gap-1.5">
      <span aria-hidden="true" className={`size-2.5 rounded-xs ${className}`} />
      {children}
    </span>
  );
}

/** What a bucket that held `value` tokens at `ts` held at a later moment. */
function tokensAt(snapshot: RateLimitSnapshot, { value, ts }: { value: number; ts: number }, now: number): number {
  const parts = [{ value: value * snapshot.unitsPerToken, ts }];
  return projectRateLimit({ ...snapshot, parts }, { now, count: 0 }).value;
}

function lastMinute(snapshot: RateLimitSnapshot, history: readonly Second[], thisSecond: number) {
  const bySecond = new Map(history.map((row) => [row.second, row]));
  const states = [snapshot, ...[...history].reverse()];
  return Array.from({ length: SECONDS + 1 }, (_, index) => {
    const second = thisSecond - SECONDS + index;
    const { admitted = 0, reserved = 0, denied = 0 } = bySecond.get(second) ?? {};
    // The state that was the last at the end of this second; before the first of them nothing is known.
    const end = (second + 1) * 1000 - 1;
    const state = states.find(({ ts }) => ts <= end);
    return {
      ago: thisSecond - second,
      admitted,
      reserved,
      denied,
      tokens: state && tokensAt(snapshot, state, end),
    };
  });
}
