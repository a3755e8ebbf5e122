import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useIsOnline } from "./useIsOnline.js";

export type Tone = "plain" | "go" | "later" | "stop";

const COLOURS = { plain: "text-muted", go: "text-go", later: "text-later", stop: "text-stop" };

export function colourOf(tone: Tone): string {
  return COLOURS[tone];
}

const looks = {
  primary: "bg-go text-go-ink border-transparent hover:brightness-110",
  plain: "bg-card text-ink border-line hover:border-muted",
  later: "bg-card text-later border-later/50 hover:border-later",
  stop: "bg-card text-stop border-stop/50 hover:border-stop",
};

/** A call that is slower than this is shown as pending. */
const PENDING_MS = 150;

/** A button that calls the backend. It is disabled without a connection, and shows when its call is pending. */
export function CallButton({
  look = "plain",
  isPressed,
  onClick,
  disabled = false,
  label,
  isSmall = false,
  children,
}: {
  look?: keyof typeof looks;
  isPressed?: boolean;
  /** Returns the call's promise, if it makes one. */
  onClick: () => unknown;
  disabled?: boolean;
  /** Needed if the text alone does not say what the button does. */
  label?: string | undefined;
  isSmall?: boolean;
  children: ReactNode;
}) {
  const isOnline = useIsOnline();
  const [isPending, track] = usePending();
  return (
    <button
      type="button"
      aria-pressed={isPressed}
      aria-label={label}
      aria-busy={isPending}
      disabled={disabled || !isOnline}
      onClick={() => {
        track(onClick());
      }}
      className={`rounded-lg border font-medium whitespace-nowrap disabled:cursor-not-allowed disabled:opacity-45 ${isSmall ? "h-8 px-2.5 text-[13px]" : "h-10 px-3 text-sm sm:px-4"} ${looks[look]} ${isPressed ? "ring-2 ring-current" : ""}`}
    >
      {children}
    </button>
  );
}

/** Whether the latest tracked call has been pending for longer than 150 ms, so that it should be shown. */
export function usePending(): [isPending: boolean, track: (call: unknown) => void] {
  const [isPending, setPending] = useState(false);
  const latest = useRef<unknown>(undefined);
  useEffect(
    () => () => {
      latest.current = undefined;
    },
    [],
  );
  const track = (call: unknown) => {
    if (!(call instanceof Promise)) return;
    latest.current = call;
    const timer = setTimeout(() => {
      if (latest.current === call) setPending(true);
    }, PENDING_MS);
    const end = () => {
      clearTimeout(timer);
      if (latest.current === call) setPending(false);
    };
    call.then(end, end);
  };
  return [isPending, track];
}

/** A choice of one option. */
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
  return (
    <fieldset className="min-w-0">
      <legend className="sr-only">{legend}</legend>
      <div className="flex flex-wrap rounded-lg border border-line bg-well p-0.5">
        {options.map((option) => (
          <label
            key={option.value}
            className="relative flex-1 rounded-md px-2.5 py-1 text-center text-sm whitespace-nowrap text-muted has-checked:bg-card has-checked:font-medium has-checked:text-ink has-checked:ring-1 has-checked:ring-line has-focus-visible:outline-2 has-focus-visible:outline-go"
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

/** The first paragraph of a tab: what it shows, and what to press first. */
export function Lead({ children, tryThis }: { children: ReactNode; tryThis: string }) {
  return (
    <p className="min-h-11 text-sm leading-relaxed text-muted">
      {children}{" "}
      <span className="block text-ink">
        <span className="font-semibold">Try:</span> {tryThis}
      </span>
    </p>
  );
}

/** The line for an answer. It keeps its space when it is empty, so that nothing jumps. */
export function Answer({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <p role="status" className={`min-h-10 text-sm leading-5 ${colourOf(tone)}`}>
      {children}
    </p>
  );
}

/** What a colour of a chart means. */
export function Legend({ className, children }: { className: string; children: string }) {
  return (
    <span className="flex items-center gap-1.5">
      <span className={`size-2.5 rounded-xs ${className}`} />
      {children}
    </span>
  );
}
