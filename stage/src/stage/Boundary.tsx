import { Component, type ReactNode } from "react";

/** Shows an error in place of a tab that fails, so that the rest of the page still works. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
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
          <span className="font-medium text-stop">This tab has failed.</span> {firstLine(error.message)}
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
