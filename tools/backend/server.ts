/** The embedded backend behind a Node.js HTTP server. The official clients can use it like a deployment. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { type App, openBackend } from "./backend.js";
import { answer, isForBackend } from "./httpApi.js";
import { LiveQueries } from "./liveQueries.js";
import { MutationLog } from "./mutationLog.js";
import { Session } from "./session.js";

/** A client that receives nothing for 30 s considers the connection lost. */
const PING_INTERVAL_MS = 15_000;

export interface EmbeddedServer {
  /** Answers a request for the backend and returns true. Leaves any other request alone and returns false. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** The same, for upgrades to a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Runs all queries again. Call it when the app's functions have changed. The data stays. */
  invalidate(): void;
  close(): void;
}

export function openServer(app: App): EmbeddedServer {
  const sessions = new Set<Session>();
  const backend = openBackend(app, (table) => {
    queries.tableChanged(table);
  });
  const queries = new LiveQueries(backend.run, () => {
    for (const session of sessions) session.transition();
  });
  const mutations = new MutationLog();
  const sockets = new WebSocketServer({ noServer: true });
  const pinging = setInterval(() => {
    for (const session of sessions) session.ping();
  }, PING_INTERVAL_MS);

  sockets.on("connection", (socket) => {
    const session = new Session(socket, backend, queries, mutations);
    sessions.add(session);
    socket.on("message", (data: Buffer) => {
      try {
        session.receive(data.toString("utf8"));
      } catch (error) {
        // 1008 is the code for a client that breaks the protocol. A reason may have 123 bytes, and a character is up to three.
        socket.close(1008, String(error).slice(0, 41));
      }
    });
    // A bad frame: ws closes the connection itself, but without a listener its error would end the process.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sessions.delete(session);
      session.close();
    });
  });

  return {
    handle: (request, response) => {
      if (!isForBackend(request.url ?? "")) return false;
      if (isFromElsewhere(request) && !request.url?.startsWith("/http/")) {
        response.writeHead(403).end("The embedded backend answers pages of its own origin only.");
        return true;
      }
      void answer(backend, request, response);
      return true;
    },
    upgrade: (request, socket, head) => {
      if (!/^\/api\/[^/]+\/sync$/.test(request.url ?? "")) return false;
      if (isFromElsewhere(request)) {
        // The client may be gone already.
        socket.on("error", () => socket.destroy());
        socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
        return true;
      }
      sockets.handleUpgrade(request, socket, head, (client) => sockets.emit("connection", client));
      return true;
    },
    invalidate: () => {
      queries.everythingChanged();
    },
    close: () => {
      clearInterval(pinging);
      backend.close();
      for (const client of sockets.clients) client.terminate();
      sockets.close();
    },
  };
}

/**
 * Whether a browser may have sent this request for a page of another site. Any page can make a browser send requests to this
 * machine, so an origin must be our own. Any host name can be pointed at this machine, so the host must be a local name.
 */
function isFromElsewhere({ headers: { origin, host = "" } }: IncomingMessage): boolean {
  if (!/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host)) return true;
  return origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
}
