/** Tokens as cells: full, the next one filling, and hatched while they are owed. */

/** More are too narrow to be seen; then each stands for several tokens. */
const MOST_CELLS = 20;

export function Cells({
  value,
  capacity,
  label,
  className = "h-11",
  cellClass = "",
}: {
  /** Below zero while tokens are owed. Undefined while it is loading. */
  value: number | undefined;
  capacity: number;
  label: string;
  className?: string;
  /** For the cells of one kind: those from `from` up to `to` tokens. */
  cellClass?: string | ((cell: number) => string);
}) {
  const count = Math.max(1, Math.min(MOST_CELLS, Math.ceil(capacity)));
  const each = Math.max(1, capacity) / count;
  const share = (tokens: number, cell: number) => Math.min(1, Math.max(0, tokens / each - cell));
  return (
    <div
      role="img"
      aria-label={value === undefined ? "Loading" : label}
      className={`grid gap-1 sm:gap-1.5 ${className}`}
      style={{ gridTemplateColumns: `repeat(${count}, minmax(0, 1fr))` }}
    >
      {Array.from({ length: count }, (_, cell) => {
        const full = share(value ?? 0, cell);
        const owed = share(-(value ?? 0), cell);
        const more = typeof cellClass === "string" ? cellClass : cellClass(cell);
        return (
          <span
            key={cell}
            className={`relative overflow-hidden rounded-md ${value === undefined ? "skeleton" : "bg-well"}`}
          >
            <span
              className={`absolute inset-0 origin-bottom rounded-md bg-go ${full < 1 ? "opacity-55" : ""} ${more}`}
              style={{ transform: `scaleY(${full})` }}
            />
            <span className="hatched absolute inset-0 origin-bottom" style={{ transform: `scaleY(${owed})` }} />
          </span>
        );
      })}
    </div>
  );
}
