/** A real HTTP server in front of a backend: it passes each request to `t.fetch`, and records the statuses of its answers. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpBackend } from "./backend.js";

export interface Server {
  readonly url: string;
  /** The status and the time of every answer, in order, in ms of `performance.now`. */
  readonly answers: { status: number; at: number }[];
  readonly close: () => Promise<void>;
}

/** @param onRequest - runs when a request arrives, before the backend gets it. */
export async function listen(t: HttpBackend, onRequest: () => void): Promise<Server> {
  const answers: Server["answers"] = [];
  const server = createServer((incoming, outgoing) => {
    onRequest();
    answer(t, incoming, outgoing, answers).catch((error: unknown) => outgoing.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    answers,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(t: HttpBackend, incoming: IncomingMessage, outgoing: ServerResponse, answers: Server["answers"]) {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const response = await t.fetch(incoming.url ?? "/", { method: incoming.method ?? "GET", headers });
  answers.push({ status: response.status, at: performance.now() });
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}
