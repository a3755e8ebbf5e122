/** A tab plays by itself after 3 s without input. The first touch, key or scroll stops that for good. */
import { createContext, useContext, useEffect, useRef, useState } from "react";
import { useIsOnline } from "../useIsOnline.js";

const IDLE_MS = 3000;
const INPUT = ["pointerdown", "keydown", "wheel", "touchstart"] as const;

export const Playing = createContext(false);

/** Whether the page plays by itself: nobody has touched it for 3 s, and the visitor has not asked for less motion. */
export function useIsIdle(): boolean {
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    const isUnwanted =
      matchMedia("(prefers-reduced-motion: reduce)").matches ||
      new URLSearchParams(location.search).get("autoplay") === "off";
    if (isUnwanted) return;
    const timer = setTimeout(() => {
      setIdle(true);
    }, IDLE_MS);
    const touch = () => {
      clearTimeout(timer);
      setIdle(false);
      for (const type of INPUT) removeEventListener(type, touch);
    };
    for (const type of INPUT) addEventListener(type, touch, { passive: true });
    return touch;
  }, []);
  return isIdle;
}

/** An action, and how long to wait before it. */
export type Step = readonly [afterMs: number, act: () => unknown];

/**
 * Repeats the steps while the page plays by itself. While `isReady` is false, the tab still shows the effect of the last step: the wait
 * before the next one begins when that is over.
 */
export function useAutoplay(steps: readonly Step[], isReady = true): void {
  const isPlaying = useContext(Playing);
  const isOnline = useIsOnline();
  const current = useRef(steps);
  const next = useRef(0);
  useEffect(() => {
    current.current = steps;
  });
  useEffect(() => {
    if (!isPlaying || !isOnline || !isReady) return;
    let timer: ReturnType<typeof setTimeout>;
    const play = () => {
      const [afterMs = 0] = current.current[next.current] ?? [];
      timer = setTimeout(() => {
        if (!document.hidden) current.current[next.current]?.[1]();
        next.current = (next.current + 1) % current.current.length;
        play();
      }, afterMs);
    };
    play();
    return () => {
      clearTimeout(timer);
    };
  }, [isPlaying, isOnline, isReady]);
}
