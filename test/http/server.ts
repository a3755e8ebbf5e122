/** A real HTTP server in front of a backend: it passes each request to `t.fetch`, and records the statuses of its answers. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpBackend } from "./backend.js";

export interface Server {
  readonly url: string;
  /** The status of every answer, in order. */
  readonly answers: number[];
  readonly close: () => Promise<void>;
}

export interface Observer {
  /** Runs when a request arrives, before the backend gets it. */
  readonly onRequest?: () => void;
  readonly onAnswer?: (status: number) => void;
}

export async function listen(t: HttpBackend, { onRequest, onAnswer }: Observer = {}): Promise<Server> {
  const answers: number[] = [];
  const server = createServer((incoming, outgoing) => {
    onRequest?.();
    const onStatus = (status: number) => {
      answers.push(status);
      onAnswer?.(status);
    };
    answer(t, incoming, outgoing, onStatus).catch((error: unknown) => outgoing.destroy(error as Error));
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

async function answer(
  t: HttpBackend,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  onStatus: (status: number) => void,
) {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const response = await t.fetch(incoming.url ?? "/", { method: incoming.method ?? "GET", headers });
  onStatus(response.status);
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}
