import { amount, per } from "../words.js";
import { Cells } from "./Cells.js";
import type { LimitNow } from "./useLimit.js";

/** The cells of a bucket, with its numbers below them: "5 of 5 requests left · 1 in 3 seconds". */
export function Gauge({ limit, noun, className }: { limit: LimitNow; noun: string; className: string }) {
  const { snapshot, value, capacity } = limit;
  const { rate = 0, period = 1000 } = snapshot?.config ?? {};
  const left = `${Math.floor(Math.max(0, value ?? 0))} of ${amount(capacity, noun)} left`;
  return (
    <div>
      <Cells value={value} capacity={capacity} label={left} className={className} />
      <p aria-hidden="true" className="mt-1 text-[13px] text-muted">
        {snapshot ? `${left} · ${rate.toLocaleString("en")} ${per(period)}` : "…"}
      </p>
    </div>
  );
}
