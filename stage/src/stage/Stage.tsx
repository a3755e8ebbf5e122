import { useRateLimit } from "convex-rate-limits/react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { api } from "../../convex/_generated/api.js";
import { isEmbedded, isStatic } from "../backend.js";
import { watchOverflow } from "../reading.js";
import { room } from "../room.js";
import { useHasConnected, useIsOnline } from "../useIsOnline.js";
import { TABS } from "../tabs/index.js";
import { Playing, useIsIdle } from "./autoplay.js";
import { Boundary } from "./Boundary.js";
import { CodePane } from "./CodePane.js";

/** Shows one tab at a time: the story on the left, and the code that it runs on the right. */
export function Stage() {
  // Measures the server's clock for the whole page. With a count of 0 it needs no tokens, so any limit will do.
  useRateLimit(api.stage.burst.bucket, { key: room, count: 0, getServerTime: api.stage.burst.getServerTime });
  const [chosen, setChosen] = useState(tabInAddress);
  const [counts, setCounts] = useState<Record<string, number>>({});
  const [views, setViews] = useState<Record<string, number>>({});
  const isIdle = useIsIdle();
  useEffect(() => {
    const follow = () => {
      const id = location.hash.slice(1);
      // Other links within the page keep the tab.
      if (id === "" || isTab(id)) setChosen(tabInAddress());
    };
    // A link to a tab scrolls to the stage.
    if (isTab(location.hash.slice(1))) document.getElementById("stage")?.scrollIntoView();
    addEventListener("hashchange", follow);
    return () => {
      removeEventListener("hashchange", follow);
    };
  }, []);

  const tab = TABS.find(({ id }) => id === chosen) ?? TABS[0];
  if (!tab) return null;
  const { id, Panel, limits } = tab;
  const count = counts[id] ?? tab.count;
  const view = views[id] ?? 0;
  return (
    <Playing.Provider value={isIdle}>
      <div className="stage grid grid-rows-[auto_1fr] lg:h-[47.5rem]">
        <Tabs
          chosen={id}
          onChoose={(next) => {
            location.hash = next;
            setChosen(next);
          }}
        />
        <div
          role="tabpanel"
          id="panel"
          aria-labelledby={`tab-${id}`}
          className="grid min-h-0 lg:grid-cols-[minmax(0,1.12fr)_minmax(0,1fr)]"
        >
          <div className="min-h-[42rem] min-w-0 px-4 py-4 sm:px-6 lg:min-h-0 lg:overflow-y-auto">
            <Boundary key={id}>
              <Panel
                count={count}
                view={view}
                onView={(next) => {
                  setViews((before) => ({ ...before, [id]: next }));
                }}
              />
            </Boundary>
          </div>
          <div className="h-[34rem] min-w-0 border-l border-[var(--code-line)] lg:h-auto lg:min-h-0">
            <CodePane
              key={`${id}.${view}`}
              files={tab.views[view] ?? []}
              limits={limits}
              count={count}
              onCount={(value) => {
                setCounts((before) => ({ ...before, [id]: value }));
              }}
            />
          </div>
        </div>
      </div>
      <InPage id="connection">
        <Connection />
      </InPage>
      <InPage id="footer">
        <Footer isIdle={isIdle} />
      </InPage>
    </Playing.Provider>
  );
}

function tabInAddress(): string {
  const id = location.hash.slice(1);
  return isTab(id) ? id : (TABS[0]?.id ?? "");
}

function isTab(id: string): boolean {
  return TABS.some((tab) => tab.id === id);
}

/** The row of tabs. It is one stop of the Tab key, and arrow keys go from tab to tab. The chosen tab is always visible. */
function Tabs({ chosen, onChoose }: { chosen: string; onChoose: (id: string) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const index = TABS.findIndex(({ id }) => id === chosen);
  useEffect(() => {
    const row = list.current;
    const tab = row?.querySelector<HTMLElement>(`#tab-${chosen}`);
    if (row && tab) row.scrollLeft = tab.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
  }, [chosen]);
  useEffect(() => watchOverflow(list.current), []);
  const go = (event: KeyboardEvent) => {
    const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = TABS[(to + TABS.length) % TABS.length];
    if (!next) return;
    onChoose(next.id);
    list.current?.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus();
  };
  return (
    <div className="scroller min-w-0">
      <div
        ref={list}
        role="tablist"
        aria-label="Stories"
        onKeyDown={go}
        className="flex gap-0.5 overflow-x-auto border-b border-line px-2.5 py-2"
      >
        {TABS.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${id}`}
            aria-selected={id === chosen}
            aria-controls="panel"
            tabIndex={id === chosen ? 0 : -1}
            className="rounded-lg px-2 py-1.5 text-sm whitespace-nowrap text-muted hover:text-ink aria-selected:bg-well aria-selected:font-semibold aria-selected:text-ink"
            onClick={() => {
              onChoose(id);
            }}
          >
            {title}
          </button>
        ))}
      </div>
    </div>
  );
}

/** Renders into an element that the page has before React starts. */
function InPage({ id, children }: { id: string; children: React.ReactNode }) {
  const element = document.getElementById(id);
  return element && createPortal(children, element);
}

function Connection() {
  const isOnline = useIsOnline();
  const hasConnected = useHasConnected();
  const text = isOnline ? "Live" : hasConnected ? "Disconnected" : "Connecting…";
  const colour = isOnline ? "bg-go" : hasConnected ? "bg-stop" : "bg-muted";
  return (
    <p role="status" className="flex w-full justify-end">
      <span
        key={text}
        className="flex h-9 items-center gap-1.5 rounded-full border border-line bg-card px-2.5 text-xs whitespace-nowrap sm:gap-2 sm:px-3.5 sm:text-sm"
      >
        <span aria-hidden="true" className={`size-2 rounded-full ${colour}`} />
        <span className="sr-only min-[22rem]:not-sr-only">
          {text}
          {!isOnline && hasConnected && <span className="sr-only md:not-sr-only">, trying again</span>}
        </span>
      </span>
    </p>
  );
}

function Footer({ isIdle }: { isIdle: boolean }) {
  return (
    <>
      <p className="min-h-6">
        {isIdle ? "Playing by itself: touch anything to take over." : "The page is yours."}{" "}
        {!isStatic && (
          <>
            Open{" "}
            <a href={`?room=${room}`} target="_blank" rel="noreferrer">
              this room in another window
            </a>
            : both stay in step.
          </>
        )}
      </p>
      <p>
        {isStatic
          ? "The backend runs in this page, on a database in memory: everything is forgotten when you close it."
          : isEmbedded
            ? "The backend is embedded in the server of this page: for development, in memory. It forgets everything when it stops."
            : "The backend is a Convex deployment."}
      </p>
    </>
  );
}
