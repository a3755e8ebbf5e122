/** A page whose deployment is convex-test, in jsdom. */
import { act, cleanup, render } from "@testing-library/react";
import { ConvexProvider, type ConvexReactClient } from "convex/react";
import { type FunctionReference, getFunctionName } from "convex/server";
import type { ReactNode } from "react";
import { afterEach, vi } from "vitest";

interface Deployment {
  query: (query: FunctionReference<"query">, args: object) => Promise<unknown>;
  mutation: (mutation: FunctionReference<"mutation">, args: object) => Promise<unknown>;
}

afterEach(cleanup);

/** Renders a component, and waits until the deployment has answered all its calls. */
export async function open(deployment: Deployment, component: ReactNode) {
  const results = new Map<string, unknown>();
  const calls = new Set<Promise<unknown>>();
  const wait = <Result,>(call: Promise<Result>) => {
    calls.add(call);
    void call.finally(() => calls.delete(call));
    return call;
  };
  const client = {
    watchQuery(query: FunctionReference<"query">, args: object) {
      const id = getFunctionName(query) + JSON.stringify(args);
      return {
        localQueryResult: () => results.get(id),
        onUpdate(listener: () => void) {
          void wait(
            deployment
              .query(query, args)
              .then((result) => results.set(id, result))
              .then(listener),
          );
          return () => undefined;
        },
      };
    },
    mutation: (mutation: FunctionReference<"mutation">, args: object) => wait(deployment.mutation(mutation, args)),
    connectionState: () => ({ isWebSocketConnected: true, connectionCount: 1 }),
    subscribeToConnectionState: () => () => undefined,
  } as unknown as ConvexReactClient;
  const page = render(<ConvexProvider client={client}>{component}</ConvexProvider>);
  await act(async () => {
    while (calls.size > 0) await Promise.all(calls);
  });
  return page;
}

export function pass(ms: number): void {
  act(() => {
    vi.advanceTimersByTime(ms);
  });
}
