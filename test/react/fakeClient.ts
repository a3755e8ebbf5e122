/** A Convex client without a server: the test says what the server would. */
import { ConvexProvider, type ConvexReactClient } from "convex/react";
import { makeFunctionReference } from "convex/server";
import { createElement, type ReactNode } from "react";
import type { RateLimitQuery, ServerTimeMutation } from "convex-rate-limits/react";
import type { RateLimitSnapshot } from "convex-rate-limits";
import { snapshotBy, type StoredBucket } from "../support/snapshots.js";

export const getRateLimit: RateLimitQuery = makeFunctionReference("limits:getRateLimit");
export const getServerTime: ServerTimeMutation = makeFunctionReference("limits:getServerTime");

export class FakeClient {
  private readonly results = new Map<string, unknown>();
  private readonly queryListeners = new Set<() => void>();
  private readonly connectionListeners = new Set<() => void>();
  private connection: { isWebSocketConnected: boolean; connectionCount: number };
  /** Questions for the server's time that have not been answered. */
  private questions: ((time: number | Error) => void)[] = [];
  asked = 0;
  /** Forgets results that nobody watches any more. */
  isForgetful = false;
  private failure: Error | undefined;

  constructor({ isConnected = true } = {}) {
    this.connection = { isWebSocketConnected: isConnected, connectionCount: Number(isConnected) };
  }

  /** The query's result, for a key that was requested; to all that read it. */
  show(bucket: StoredBucket | RateLimitSnapshot, key?: string): void {
    const value = "parts" in bucket ? bucket : snapshotBy(bucket);
    this.answerQuery(key === undefined ? {} : { key }, value);
  }

  /** The result of any query with these arguments; to all that read it. */
  answerQuery(args: object, result: unknown): void {
    this.results.set(JSON.stringify(args), result);
    for (const listener of this.queryListeners) listener();
  }

  /** The query throws, for all that look at it. */
  fail(failure: Error): void {
    this.failure = failure;
    for (const listener of this.queryListeners) listener();
  }

  recover(): void {
    this.failure = undefined;
    for (const listener of this.queryListeners) listener();
  }

  /** Answers the questions that have been asked; the next ones are asked right after. */
  answer(time: number | Error): void {
    const questions = this.questions;
    this.questions = [];
    for (const question of questions) question(time);
  }

  reconnect(): void {
    this.connect({ isWebSocketConnected: true, connectionCount: this.connection.connectionCount + 1 });
  }

  get watchers(): number {
    return this.queryListeners.size + this.connectionListeners.size;
  }

  /** What React needs around the hooks. */
  readonly wrapper = ({ children }: { children?: ReactNode }): ReactNode =>
    createElement(ConvexProvider, { client: this as unknown as ConvexReactClient, children });

  // From here on: what the hooks use of a ConvexReactClient.

  watchQuery(_query: unknown, args: object) {
    return {
      onUpdate: (listener: () => void) => {
        this.queryListeners.add(listener);
        return () => {
          this.queryListeners.delete(listener);
          // As the real one: what nobody watches is not kept.
          if (this.isForgetful && this.queryListeners.size === 0) this.results.clear();
        };
      },
      localQueryResult: () => this.result(JSON.stringify(args)),
    };
  }

  /** As a `ConvexClient` does. */
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

  private connect(connection: FakeClient["connection"]): void {
    this.connection = connection;
    for (const listener of this.connectionListeners) listener();
  }
}
