/** The clients of a run, and the buckets and rows that it deletes at its end. */
import { ConvexClient, ConvexHttpClient } from "convex/browser";
import { WebSocket } from "ws";
import { api } from "../../stage/convex/_generated/api.js";
import type { Effort, Place, Prover } from "./check.js";
import type { Target } from "./target.js";

interface Bucket {
  place: Place;
  name: string;
  key: string;
}

/** The number of buckets that one mutation resets. */
const AT_ONCE = 20;

export interface OpenProver extends Omit<Prover, "signal"> {
  /** Makes sure that the functions are deployed, and that they accept the secret. */
  begin(): Promise<void>;
  /** Deletes what the run has written, and closes its clients. */
  end(): Promise<void>;
}

export function openProver({ url, siteUrl, secret }: Target, effort: Effort): OpenProver {
  const run = `prove-${Date.now().toString(36)}`;
  const buckets = new Map<string, Bucket>();
  const sockets: ConvexClient[] = [];
  const openSocket = () => {
    const webSocketConstructor = WebSocket as unknown as typeof globalThis.WebSocket;
    const socket = new ConvexClient(url, { webSocketConstructor, unsavedChangesWarning: false });
    sockets.push(socket);
    return socket;
  };
  const http = new ConvexHttpClient(url, { logger: false });
  let shared: ConvexClient | undefined;
  const clear = (some: Bucket[]) => http.mutation(api.prove.rows.clear, { secret, run, buckets: some });

  return {
    effort,
    secret,
    run,
    http,
    get socket() {
      return (shared ??= openSocket());
    },
    siteUrl,
    open: (clients) => ({
      sockets: Array.from({ length: Math.ceil(clients / 2) }, openSocket),
      https: Array.from({ length: Math.floor(clients / 2) }, () => new ConvexHttpClient(url, { logger: false })),
    }),
    key: (place, name, label) => {
      const key = `${name === "proofRequests" ? "own.run:" : ""}${run}-${label}`;
      buckets.set(`${place} ${name} ${key}`, { place, name, key });
      return key;
    },
    rows: (label) => ({ secret, run, label }),
    begin: async () => {
      await clear([]);
    },
    end: async () => {
      const all = [...buckets.values()];
      for (let first = 0; first < all.length; first += AT_ONCE) await clear(all.slice(first, first + AT_ONCE));
      while (await clear([]));
      await Promise.all(sockets.map((socket) => socket.close()));
    },
  };
}
