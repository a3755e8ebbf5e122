import type { RateLimitSnapshot } from "convex-rate-limits";
import type { UseRateLimitResult } from "convex-rate-limits/react";
import { useMoment } from "../useMoment.js";

/** The bucket: tokens to the right of zero, what it owes to reservations to the left. */
export function Gauge({
  snapshot,
  check,
}: {
  snapshot: RateLimitSnapshot | undefined;
  check: UseRateLimitResult["check"];
}) {
  useMoment(50);
  const level = check({ count: 0 })?.value;
  if (!snapshot || level === undefined) {
    return (
      <div key="loading" className="h-24" aria-busy="true">
        <div className="skeleton h-10 w-28" />
        <div className="skeleton mt-2 h-8" />
      </div>
    );
  }
  const { config } = snapshot;
  const { capacity = config.rate, maxReserved = 0 } = config;
  const owed = Math.max(0, -level);
  const width = Math.max(1e-9, capacity + maxReserved);
  const percent = (tokens: number) => `${(tokens / width) * 100}%`;
  const says = owed > 0 ? `${owed.toFixed(1)} tokens owed` : `${level.toFixed(1)} of ${capacity} tokens`;
  return (
    <div
      key="loaded"
      className="h-24"
      role="img"
      aria-label={`The bucket holds ${level.toFixed(0)} of ${capacity} tokens.`}
    >
      <p className="flex h-10 items-baseline gap-2">
        <span className={`min-w-[4ch] text-4xl font-semibold tracking-tight ${owed > 0 ? "text-later" : "text-go"}`}>
          {level.toFixed(1).replace("-", "−")}
        </span>
        <span className="text-sm text-muted">{says.replace(/^\S+ /, "")}</span>
      </p>
      <div className="relative mt-2 h-8 overflow-hidden rounded-lg bg-well ring-1 ring-line ring-inset">
        {/* Clipped, and not moved: what only fills and empties is no shift of the layout. */}
        <div
          className="hatched absolute inset-y-0 left-0"
          style={{ width: percent(maxReserved), clipPath: `inset(0 0 0 ${100 - (owed / maxReserved) * 100}%)` }}
        />
        <div
          className="absolute inset-y-0 right-0 bg-go"
          style={{
            width: percent(capacity),
            clipPath: `inset(0 ${100 - (Math.max(0, level) / capacity) * 100}% 0 0)`,
          }}
        />
        {maxReserved > 0 && (
          <div className="absolute inset-y-0 w-0.5 -translate-x-1/2 bg-ink" style={{ left: percent(maxReserved) }} />
        )}
      </div>
      <div className="relative mt-1 h-4 text-xs text-muted">
        {maxReserved > 0 && <span className="absolute left-0">−{maxReserved}</span>}
        <span className="absolute -translate-x-1/2" style={{ left: maxReserved > 0 ? percent(maxReserved) : "0.4em" }}>
          0
        </span>
        <span className="absolute right-0">{capacity}</span>
      </div>
    </div>
  );
}
