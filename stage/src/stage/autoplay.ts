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

/** Repeats the steps while the page plays by itself. */
export function useAutoplay(steps: readonly Step[]): void {
  const isPlaying = useContext(Playing);
  const isOnline = useIsOnline();
  const current = useRef(steps);
  useEffect(() => {
    current.current = steps;
  });
  useEffect(() => {
    if (!isPlaying || !isOnline) return;
    let timer: ReturnType<typeof setTimeout>;
    const play = (index: number) => {
      const [afterMs = 0] = current.current[index] ?? [];
      timer = setTimeout(() => {
        if (!document.hidden) current.current[index]?.[1]();
        play((index + 1) % current.current.length);
      }, afterMs);
    };
    play(0);
    return () => {
      clearTimeout(timer);
    };
  }, [isPlaying, isOnline]);
}
