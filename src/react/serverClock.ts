/**
 * The server's clock, as a browser can know it: the browser's own, corrected by what the server said last. One for each Convex
 * client, so that every hook of a page goes by the same time and the server is asked once.
 */
import type { ConvexReactClient } from "convex/react";
import type { FunctionReference } from "convex/server";

/** `getServerTime` of `exposeRateLimit`: milliseconds since the epoch. */
export type ServerTimeMutation = FunctionReference<"mutation", "public", Record<string, never>, number>;

/** A longer timeout than this (24.8 days) would fire at once: it is kept in 32 bits. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export class ServerClock {
  /** Server's time minus browser's; undefined until the server has been asked. */
  private offsetMs: number | undefined;
  private readonly listeners = new Set<() => void>();
  /** Who wants the clock to be measured, and with what. */
  private readonly sources = new Set<{ getServerTime: ServerTimeMutation }>();
  private stopWatching: (() => void) | undefined;
  /** The connection over which the clock was last measured, or is being measured. */
  private measuredConnection: number | undefined;

  constructor(private readonly client: ConvexReactClient | undefined) {}

  get isMeasured(): boolean {
    return this.offsetMs !== undefined;
  }

  now(): number {
    return Date.now() + (this.offsetMs ?? 0);
  }

  /** Calls back when the clock was corrected. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls back at a moment of this clock; a correction moves it, so whoever is called looks at the clock again. */
  wakeAt(moment: number, wake: () => void): () => void {
    const delayMs = Math.min(Math.max(0, Math.ceil(moment - this.now())), LONGEST_TIMEOUT_MS);
    const timer = setTimeout(wake, delayMs);
    return () => {
      clearTimeout(timer);
    };
  }

  /** Asks the server now and after every reconnect: the network has changed, or the machine has slept. */
  keepMeasured(getServerTime: ServerTimeMutation): () => void {
    const source = { getServerTime };
    this.sources.add(source);
    this.stopWatching ??= this.client?.subscribeToConnectionState(() => void this.measure());
    void this.measure();
    return () => {
      this.sources.delete(source);
      if (this.sources.size > 0) return;
      this.stopWatching?.();
      this.stopWatching = undefined;
    };
  }

  private async measure(): Promise<void> {
    const [source] = this.sources;
    const { client } = this;
    if (!client || !source) return;
    const { isWebSocketConnected, connectionCount } = client.connectionState();
    if (!isWebSocketConnected || connectionCount === this.measuredConnection) return;
    this.measuredConnection = connectionCount;
    try {
      const serverTime = await client.mutation(source.getServerTime, {});
      // An answer that outlived its connection says nothing about now; the next connection has its own.
      if (client.connectionState().connectionCount !== connectionCount) return;
      // As if the answer had come without delay: at most one round trip behind the server, never ahead of it.
      this.correct(serverTime - Date.now());
    } catch (error) {
      console.error("useRateLimit: the server's time is not to be had, so the browser's is used.", error);
      this.correct(this.offsetMs ?? 0);
    }
  }

  private correct(offsetMs: number): void {
    this.offsetMs = offsetMs;
    for (const listener of this.listeners) listener();
  }
}

const clocks = new WeakMap<ConvexReactClient, ServerClock>();
const browserClock = new ServerClock(undefined);

/** The clock of a client; without one the browser's. */
export function serverClockOf(client: ConvexReactClient | undefined): ServerClock {
  if (!client) return browserClock;
  const clock = clocks.get(client) ?? new ServerClock(client);
  clocks.set(client, clock);
  return clock;
}
