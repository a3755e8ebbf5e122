/** The embedded backend on a port of its own, and a proxy to it whose connections can be cut. */
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { openServer } from "../server.js";
import { app } from "./app.js";

export type Embedded = Awaited<ReturnType<typeof listen>>;
/** @param onRequest - runs when a request arrives, before the backend gets it. */
export async function listen(port = 0, served = app, onRequest: (response: ServerResponse) => void = () => undefined) {
  const embedded = openServer(served);
  const server = createServer((request, response) => {
    onRequest(response);
    if (!embedded.handle(request, response)) response.writeHead(404).end("the page's");
  });
  server.on("upgrade", (request, socket, head) => {
    if (!embedded.upgrade(request, socket, head)) socket.destroy();
  });
  const bound = await bind(server, port);
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    close: async () => {
      embedded.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A proxy to the backend's port. */
export async function wireTo(target: number) {
  let pairs: { client: Socket; server: Socket }[] = [];
  let isSilent = false;
  const proxy = createTcpServer((client) => {
    const server = connect(target, "127.0.0.1");
    pairs.push({ client, server });
    client.on("data", (data) => server.write(data));
    server.on("data", (data) => {
      if (!isSilent) client.write(data);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  });
  const port = await bind(proxy, 0);
  /** Breaks all connections. New connections get messages again. */
  const cut = () => {
    isSilent = false;
    for (const { client, server } of pairs) {
      client.destroy();
      server.destroy();
    }
    pairs = [];
  };
  return {
    url: `http://127.0.0.1:${port}`,
    /** Stops all messages to the client from now on. */
    silence: () => {
      isSilent = true;
    },
    cut,
    close: async () => {
      cut();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

async function bind(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}
