import { useEffect, useState } from "react";
import { isEmbedded } from "./backend.js";
import { HandsPanel } from "./hands/HandsPanel.js";
import { HotPanel } from "./HotPanel.js";
import { LoginPanel } from "./LoginPanel.js";
import { QueuePanel } from "./QueuePanel.js";
import { SharedPanel } from "./SharedPanel.js";
import { useHasConnected, useIsOnline } from "./useIsOnline.js";

export function Page() {
  return (
    <div className="mx-auto max-w-6xl px-3 pt-6 pb-12 sm:px-6 sm:pt-10">
      <header className="mb-6 flex flex-wrap items-start justify-between gap-x-8 gap-y-4 px-1 sm:mb-8">
        <div className="flex max-w-2xl gap-3.5">
          <Mark />
          <div>
            <h1 className="text-2xl font-semibold tracking-tight sm:text-3xl">Rate limits, live</h1>
            <p className="mt-1 text-sm leading-relaxed text-muted sm:text-base">
              Five limits of a Convex backend, held by{" "}
              <span className="whitespace-nowrap text-ink">convex-rate-limits</span>. The page follows them through live
              queries: the server says what happened, and what time does to it the page works out itself.
            </p>
          </div>
        </div>
        <div className="flex flex-row-reverse items-center gap-2 sm:flex-row">
          <Connection />
          <ThemeButton />
        </div>
      </header>
      <main className="grid gap-3 sm:gap-5 lg:grid-cols-2">
        <HandsPanel className="lg:col-span-2" />
        <LoginPanel />
        <SharedPanel />
        <QueuePanel className="lg:col-span-2" />
        <div className="lg:col-span-2">
          <HotPanel />
        </div>
      </main>
      <footer className="mt-6 px-1 text-sm text-muted">
        {isEmbedded
          ? "The backend is embedded in the server of this page: for development, in memory. It forgets everything when it stops."
          : "The backend is a Convex deployment."}
      </footer>
    </div>
  );
}

/** A vessel, half full. */
function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className="mt-1 size-9 shrink-0">
      <path d="M4 5h24l-2.6 22.500h-18.800z" fill="none" stroke="var(--go)" strokeWidth="2.4" strokeLinejoin="round" />
      <path d="M6.400 15h19.200l-1.300 11h-16.600z" fill="var(--go)" />
    </svg>
  );
}

function Connection() {
  const isOnline = useIsOnline();
  const hasConnected = useHasConnected();
  const text = isOnline ? "Live" : hasConnected ? "Disconnected, trying again" : "Connecting…";
  const colour = isOnline ? "bg-go" : hasConnected ? "bg-stop" : "bg-muted";
  return (
    <p role="status" className="flex sm:min-w-54 sm:justify-end">
      <span
        key={text}
        className="flex h-9 items-center gap-2 rounded-full border border-line bg-card px-3.5 text-sm whitespace-nowrap"
      >
        <span aria-hidden="true" className={`size-2 rounded-full ${colour}`} />
        {text}
      </span>
    </p>
  );
}

function ThemeButton() {
  const [theme, setTheme] = useState(() => document.documentElement.dataset["theme"] ?? "light");
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
  }, [theme]);
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      aria-label={`Switch to ${other} colours`}
      className="grid size-9 place-items-center rounded-full border border-line bg-card hover:border-muted"
      onClick={() => {
        localStorage.setItem("theme", other);
        setTheme(other);
      }}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true" className="size-4.5" fill="currentColor">
        {theme === "dark" ? (
          <path d="M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10Zm0-6 1.200 3.500h-2.400L12 1Zm0 22-1.200-3.500h2.400L12 23ZM1 12l3.500-1.200v2.400L1 12Zm22 0-3.500 1.200v-2.400L23 12ZM4.200 4.200l3.300 1.600-1.700 1.700-1.600-3.300Zm15.600 15.600-3.300-1.600 1.700-1.700 1.600 3.300ZM4.200 19.800l1.600-3.300 1.700 1.700-3.300 1.600ZM19.800 4.200l-1.600 3.300-1.700-1.700 3.300-1.600Z" />
        ) : (
          <path d="M20.500 14.500A8.500 8.500 0 0 1 9.500 3.500a8.500 8.500 0 1 0 11 11Z" />
        )}
      </svg>
    </button>
  );
}
