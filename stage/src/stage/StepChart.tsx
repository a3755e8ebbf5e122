import { type Past, capacityOf, valueAt } from "./useLimit.js";

const SPAN_MS = 30_000;
/** The time between two points of the line: short enough to draw a bend in its place. */
const STEP_MS = 200;

/**
 * A chart of the last 30 s of a bucket. Each call is a step at the time at which the server wrote it, and the bucket refills
 * between two calls. Owed tokens are below zero.
 */
export function StepChart({
  past,
  now,
  denials = [],
  height = "h-26",
  label,
}: {
  past: readonly Past[];
  now: number;
  /** When calls were denied. */
  denials?: readonly number[];
  height?: string;
  label: string;
}) {
  const last = past.at(-1);
  const capacity = Math.max(1, last ? capacityOf(last.snapshot) : 1);
  const points = pointsOf(past, now);
  const lowest = Math.min(0, ...points.map(({ value }) => value));
  const x = (at: number) => (((at - now) / SPAN_MS + 1) * 100).toFixed(2);
  const y = (value: number) => (((capacity - value) / (capacity - lowest)) * 100).toFixed(2);
  const line = (clamp: (value: number) => number) =>
    `M${points.map(({ at, value }) => `${x(at)} ${y(clamp(value))}`).join("L")}`;
  const held = (value: number) => Math.max(0, value);
  const owed = (value: number) => Math.min(0, value);
  const area = (clamp: (value: number) => number) => {
    const edge = points.map(({ at, value }) => `${x(at)} ${y(clamp(value))}`).join("L");
    const [first, end] = [points[0], points.at(-1)];
    return first && end ? `M${x(first.at)} ${y(0)}L${edge}L${x(end.at)} ${y(0)}Z` : "";
  };
  return (
    <figure className="min-w-0">
      <div className={`relative overflow-hidden rounded-md bg-well/60 ${height}`}>
        <svg
          viewBox="0 0 100 100"
          preserveAspectRatio="none"
          role="img"
          aria-label={label}
          className="absolute inset-0 size-full"
        >
          <path d={area(held)} fill="var(--go)" fillOpacity="0.18" />
          <path d={area(owed)} fill="var(--later)" fillOpacity="0.3" />
          {lowest < 0 && (
            <path d={`M0 ${y(0)}H100`} stroke="var(--muted)" strokeWidth="1" vectorEffect="non-scaling-stroke" />
          )}
          {points.length > 1 && (
            <>
              {lowest < 0 && (
                <path
                  d={line(owed)}
                  fill="none"
                  stroke="var(--later)"
                  strokeWidth="1.75"
                  vectorEffect="non-scaling-stroke"
                />
              )}
              <path
                d={line(held)}
                fill="none"
                stroke="var(--go)"
                strokeWidth="1.75"
                vectorEffect="non-scaling-stroke"
              />
            </>
          )}
          {denials
            .filter((at) => at > now - SPAN_MS)
            .map((at, index) => (
              <path
                key={index}
                data-denied=""
                d={`M${x(at)} 88V100`}
                stroke="var(--stop)"
                strokeWidth="2"
                vectorEffect="non-scaling-stroke"
              />
            ))}
        </svg>
        <span aria-hidden="true" className="absolute top-0.5 left-1.5 text-[11px] text-muted">
          {capacity}
        </span>
      </div>
      <figcaption aria-hidden="true" className="mt-0.5 flex justify-between text-[11px] text-muted">
        <span>{SPAN_MS / 1000} s ago</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

function pointsOf(past: readonly Past[], now: number): { at: number; value: number }[] {
  const from = now - SPAN_MS;
  const points: { at: number; value: number }[] = [];
  past.forEach(({ at, snapshot }, index) => {
    const end = Math.min(past[index + 1]?.at ?? now, now);
    const start = Math.max(at, from);
    if (end < from || start > end) return;
    // The points are at multiples of the step, so that the line does not tremble as it moves.
    for (let t = start; t < end; t = (Math.floor(t / STEP_MS) + 1) * STEP_MS) {
      points.push({ at: t, value: valueAt(snapshot, t) });
    }
    points.push({ at: end, value: valueAt(snapshot, end) });
  });
  return points;
}
