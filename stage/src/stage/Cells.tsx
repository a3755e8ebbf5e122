/** Shows tokens as cells: full cells, the next one as it fills, and hatched cells for owed tokens. */

/** More cells would be too narrow to see. With more tokens, each cell is several tokens. */
const MOST_CELLS = 20;

export function Cells({
  value,
  capacity,
  label,
  className = "h-11",
  cellClass = "",
}: {
  /** The tokens: below zero while tokens are owed, undefined while the page is loading. */
  value: number | undefined;
  capacity: number;
  label: string;
  className?: string;
  /** Further classes: of all cells, or of each by its index. */
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
            className={`relative overflow-hidden rounded-md ${value === undefined ? "skeleton" : "empty-cell"}`}
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
