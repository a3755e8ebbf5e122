/** The page's backend in its own thread. It speaks the protocol of Convex's client, and answers HTTP actions. */
import { LiveQueries } from "../../tools/backend/liveQueries.js";
import { MutationLog } from "../../tools/backend/mutationLog.js";
import { Session } from "../../tools/backend/session.js";
import componentSchema from "../../convex/schema.js";
import schema from "../convex/schema.js";
import { LocalBackend } from "./backend.js";
import { provideSetImmediate } from "./globals.js";

/** From the page: a connection is opened or closed, a message of the protocol, or an HTTP request. */
export type FromPage =
  | { open: number }
  | { close: number }
  | { to: number; text: string }
  | { fetch: number; url: string };
/** To the page: a message of the protocol, or the response of an HTTP action. */
export type ToPage = { to: number; text: string } | { fetched: number; body: string; init: ResponseInit };

const named = (modules: Record<string, object>, root: string) =>
  Object.fromEntries(Object.entries(modules).map(([file, module]) => [file.slice(root.length, -".ts".length), module]));

const app = {
  schema,
  modules: named(import.meta.glob<object>("../convex/stage/*.ts", { eager: true }), "../convex/"),
  children: {
    rateLimits: {
      schema: componentSchema,
      modules: named(
        import.meta.glob<object>(["../../convex/*.ts", "!**/*.config.ts"], { eager: true }),
        "../../convex/",
      ),
    },
  },
};

provideSetImmediate();
const sessions = new Map<number, Session>();
const backend = new LocalBackend(app, () => {
  queries.everythingChanged();
});
const queries = new LiveQueries(backend.run, () => {
  for (const session of sessions.values()) session.transition();
});
const mutations = new MutationLog();
const send = (message: ToPage) => {
  postMessage(message);
};

// A client that receives nothing for 30 s considers the connection lost.
setInterval(() => {
  for (const session of sessions.values()) session.ping();
}, 15_000);

onmessage = ({ data }: MessageEvent<FromPage>) => {
  if ("open" in data) {
    const socket = {
      OPEN: 1,
      readyState: 1,
      send: (text: string) => {
        send({ to: data.open, text });
      },
    };
    sessions.set(data.open, new Session(socket as never, backend, queries, mutations));
  } else if ("close" in data) {
    sessions.get(data.close)?.close();
    sessions.delete(data.close);
  } else if ("to" in data) sessions.get(data.to)?.receive(data.text);
  else void respond(data.fetch, data.url);
};

/** The page calls one HTTP action only. */
async function respond(fetched: number, url: string): Promise<void> {
  const response = await backend.fetch("stage/gate", "hello", new Request(url));
  const { status, headers } = response;
  const statusText = status === 200 ? "OK" : "";
  send({ fetched, body: await response.text(), init: { status, statusText, headers: [...headers] } });
}
