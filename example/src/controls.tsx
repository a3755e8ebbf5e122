import { type ReactNode, useId, useState } from "react";
import { useIsOnline } from "./useIsOnline.js";

const looks = {
  primary: "bg-go text-go-ink border-transparent hover:brightness-110",
  plain: "bg-card text-ink border-line hover:border-muted",
  later: "bg-card text-later border-later/50 hover:border-later",
  stop: "bg-card text-stop border-stop/50 hover:border-stop",
};

/** A button that calls the backend: it waits while there is no connection. */
export function CallButton({
  look = "plain",
  isPressed,
  onClick,
  disabled = false,
  label,
  isQuiet = false,
  children,
}: {
  look?: keyof typeof looks;
  isPressed?: boolean;
  onClick: () => void;
  disabled?: boolean;
  /** Where the text alone does not say what it does. */
  label?: string;
  /** A line of a list, rather than a button among buttons. */
  isQuiet?: boolean;
  children: ReactNode;
}) {
  const isOnline = useIsOnline();
  const shape = isQuiet ? "h-9 px-2.5 text-left border-transparent bg-well" : "h-10 px-3.5 font-medium";
  return (
    <button
      type="button"
      aria-pressed={isPressed}
      aria-label={label}
      disabled={disabled || !isOnline}
      onClick={onClick}
      className={`rounded-lg border text-sm whitespace-nowrap transition-[filter,border-color,opacity] disabled:cursor-not-allowed disabled:opacity-45 ${looks[look]} ${shape} ${isPressed ? "ring-2 ring-current" : ""}`}
    >
      {children}
    </button>
  );
}

/** One of a few. */
export function Choice<Value extends string | number>({
  legend,
  options,
  value,
  onChange,
}: {
  legend: string;
  options: readonly { value: Value; label: string }[];
  value: Value | undefined;
  onChange: (value: Value) => void;
}) {
  const name = useId();
  const isOnline = useIsOnline();
  return (
    <fieldset className="min-w-0" disabled={!isOnline}>
      <legend className="mb-1.5 text-xs font-medium text-muted">{legend}</legend>
      <div className="flex rounded-lg border border-line bg-well p-0.5">
        {options.map((option) => (
          <label
            key={option.value}
            className="relative flex-1 rounded-md px-2.5 py-1.5 text-center text-sm whitespace-nowrap text-muted has-checked:bg-card has-checked:font-medium has-checked:text-ink has-checked:shadow-sm has-checked:ring-1 has-checked:ring-line has-focus-visible:outline-2 has-focus-visible:outline-go"
          >
            <input
              type="radio"
              name={name}
              className="absolute inset-0 cursor-pointer opacity-0"
              checked={value === option.value}
              onChange={() => {
                onChange(option.value);
              }}
            />
            {option.label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** A number that takes effect as soon as it is one. */
export function NumberField({
  label,
  value,
  min,
  max,
  onCommit,
}: {
  label: string;
  value: number | undefined;
  min: number;
  max: number;
  onCommit: (value: number) => void;
}) {
  const [draft, setDraft] = useState<string>();
  const isOnline = useIsOnline();
  const isValid = (text: string) => text.trim() !== "" && Number(text) >= min && Number(text) <= max;
  const shown = draft ?? (value === undefined ? "" : String(value));
  return (
    <label className="block min-w-0">
      <span className="mb-1.5 block text-xs font-medium text-muted">{label}</span>
      <input
        type="number"
        inputMode="decimal"
        min={min}
        max={max}
        step="any"
        disabled={!isOnline || value === undefined}
        aria-invalid={draft !== undefined && !isValid(draft)}
        value={shown}
        onChange={({ target }) => {
          setDraft(target.value);
          if (isValid(target.value)) onCommit(Number(target.value));
        }}
        onBlur={() => {
          setDraft(undefined);
        }}
        className="h-10 w-full rounded-lg border border-line bg-card px-3 text-sm aria-invalid:border-stop"
      />
    </label>
  );
}

/** A line that is there also when there is nothing to say, so that nothing jumps. */
export function Answer({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  const colours = { plain: "text-muted", go: "text-go", later: "text-later", stop: "text-stop" };
  return (
    <p role="status" className={`min-h-10 text-sm leading-5 ${colours[tone]}`}>
      {children}
    </p>
  );
}

export type Tone = "plain" | "go" | "later" | "stop";

/** A figure with its name. */
export function Figure({ name, children, tone = "plain" }: { name: string; children: ReactNode; tone?: Tone }) {
  const colours = { plain: "", go: "text-go", later: "text-later", stop: "text-stop" };
  return (
    <div className="min-w-0">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className={`truncate text-xl font-semibold tracking-tight ${colours[tone]}`}>{children}</dd>
    </div>
  );
}
