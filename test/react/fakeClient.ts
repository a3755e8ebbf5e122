/** A Convex client without a server: the test gives the server's answers. */
import { ConvexProvider, type ConvexReactClient } from "convex/react";
import { makeFunctionReference } from "convex/server";
import { createElement, type ReactNode } from "react";
import type { RateLimitQuery, ServerTimeMutation } from "convex-rate-limits/react";
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import type { TokensConfig } from "../support/configs.js";
import { snapshotBy, type StoredBucket } from "../support/snapshots.js";

export const getRateLimit: RateLimitQuery = makeFunctionReference("limits:getRateLimit");
export const getServerTime: ServerTimeMutation = makeFunctionReference("limits:getServerTime");

export const NOW = 1_800_000_000_000;
export const tenASecond: TokensConfig = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 };
export const empty: StoredBucket = { name: "send", value: 0, ts: NOW, config: tenASecond };

export class FakeClient {
  private readonly results = new Map<string, unknown>();
  private readonly queryListeners = new Set<() => void>();
  private readonly connectionListeners = new Set<() => void>();
  private connection: { isWebSocketConnected: boolean; connectionCount: number };
  /** Calls for the server's time that have not been answered. */
  private questions: ((time: number | Error) => void)[] = [];
  asked = 0;
  /** Whether the client forgets the results when its last listener is removed. */
  isForgetful = false;
  private failure: Error | undefined;

  constructor({ isConnected = true } = {}) {
    this.connection = { isWebSocketConnected: isConnected, connectionCount: Number(isConnected) };
  }

  /** Gives this result of the query with this key to all its listeners. */
  show(bucket: StoredBucket | RateLimitSnapshot, key?: string): void {
    const value = "parts" in bucket ? bucket : snapshotBy(bucket);
    this.answerQuery(key === undefined ? {} : { key }, value);
  }

  /** Gives this result of any query with these arguments to all its listeners. */
  answerQuery(args: object, result: unknown): void {
    this.results.set(JSON.stringify(args), result);
    for (const listener of this.queryListeners) listener();
  }

  /** Makes the query throw, for all its listeners. */
  fail(failure: Error): void {
    this.failure = failure;
    for (const listener of this.queryListeners) listener();
  }

  recover(): void {
    this.failure = undefined;
    for (const listener of this.queryListeners) listener();
  }

  /** Answers the open calls for the server's time. The next calls are made right after. */
  answer(time: number | Error): void {
    const questions = this.questions;
    this.questions = [];
    for (const question of questions) question(time);
  }

  reconnect(): void {
    this.connection = { isWebSocketConnected: true, connectionCount: this.connection.connectionCount + 1 };
    for (const listener of this.connectionListeners) listener();
  }

  get watchers(): number {
    return this.queryListeners.size + this.connectionListeners.size;
  }

  /** The component that React needs around the hooks. */
  readonly wrapper = ({ children }: { children?: ReactNode }): ReactNode =>
    createElement(ConvexProvider, { client: this as unknown as ConvexReactClient, children });

  // The methods of a ConvexReactClient that the hooks use.

  watchQuery(_query: unknown, args: object) {
    return {
      onUpdate: (listener: () => void) => {
        this.queryListeners.add(listener);
        return () => {
          this.queryListeners.delete(listener);
          // The real client also drops results without listeners.
          if (this.isForgetful && this.queryListeners.size === 0) this.results.clear();
        };
      },
      localQueryResult: () => this.result(JSON.stringify(args)),
    };
  }

  /** Listens as with a `ConvexClient`. */
  onUpdate(_query: unknown, args: object, onResult: () => void, onError: () => void) {
    const id = JSON.stringify(args);
    const listener = () => {
      if (this.failure) onError();
      else if (this.results.has(id)) onResult();
    };
    this.queryListeners.add(listener);
    return Object.assign(() => this.queryListeners.delete(listener), { getCurrentValue: () => this.result(id) });
  }

  mutation(): Promise<number> {
    this.asked++;
    return new Promise((resolve, reject) => {
      this.questions.push((time) => {
        if (typeof time === "number") resolve(time);
        else reject(time);
      });
    });
  }

  connectionState() {
    return this.connection;
  }

  subscribeToConnectionState(listener: () => void): () => void {
    this.connectionListeners.add(listener);
    return () => this.connectionListeners.delete(listener);
  }

  private result(id: string): unknown {
    if (this.failure) throw this.failure;
    return this.results.get(id);
  }
}
