import { Component, type ReactNode, useId } from "react";

/** One story: a title, a sentence that says what one sees, and the thing itself. */
export function Panel({
  number,
  title,
  explanation,
  className = "",
  children,
}: {
  number: number;
  title: string;
  explanation: ReactNode;
  className?: string;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section
      aria-labelledby={id}
      className={`flex min-w-0 flex-col rounded-2xl border border-line bg-card p-4 sm:p-6 ${className}`}
    >
      <h2 id={id} className="flex items-baseline gap-2.5 text-lg font-semibold tracking-tight">
        <span aria-hidden="true" className="font-mono text-sm font-normal text-muted">
          {number}
        </span>
        {title}
      </h2>
      <p className="mt-1 mb-5 max-w-[70ch] text-sm leading-relaxed text-muted">{explanation}</p>
      <Boundary>{children}</Boundary>
    </section>
  );
}

/** A panel that fails does not take the page with it. */
class Boundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div role="alert" className="flex min-h-40 flex-col items-start gap-3 rounded-lg border border-stop/40 p-4">
        <p className="text-sm">
          <span className="font-medium text-stop">This panel has failed.</span> {firstLine(error.message)}
        </p>
        <button
          type="button"
          className="h-10 rounded-lg border border-line px-3.5 text-sm font-medium hover:border-muted"
          onClick={() => {
            this.setState({ error: undefined });
          }}
        >
          Try again
        </button>
      </div>
    );
  }
}

function firstLine(message: string): string {
  return message.split("\n").find((line) => line.includes("Uncaught")) ?? message.split("\n")[0] ?? "";
}
