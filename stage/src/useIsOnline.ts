import { useConvex } from "convex/react";
import { useCallback, useSyncExternalStore } from "react";

/** Whether there is a connection now. Renders only when that changes. */
export function useIsOnline(): boolean {
  const client = useConvex();
  const subscribe = useCallback((onChange: () => void) => client.subscribeToConnectionState(onChange), [client]);
  return useSyncExternalStore(subscribe, () => client.connectionState().isWebSocketConnected);
}

/** Whether there has ever been a connection. */
export function useHasConnected(): boolean {
  const client = useConvex();
  const subscribe = useCallback((onChange: () => void) => client.subscribeToConnectionState(onChange), [client]);
  return useSyncExternalStore(subscribe, () => client.connectionState().hasEverConnected);
}

/** How often the page has connected: it changes when a lost connection is back. */
export function useConnectionCount(): number {
  const client = useConvex();
  const subscribe = useCallback((onChange: () => void) => client.subscribeToConnectionState(onChange), [client]);
  return useSyncExternalStore(subscribe, () => client.connectionState().connectionCount);
}
