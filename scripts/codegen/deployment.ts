/** A stand-in for a Convex deployment: the two endpoints that `convex codegen` calls, and no others. */
import http from "node:http";
import { type AddressInfo } from "node:net";
import { brotliDecompressSync } from "node:zlib";
import { version } from "convex";
import { analyzePush } from "./push.js";
import { type PushRequest } from "./wire.js";

export interface Deployment {
  readonly url: string;
  close(): void;
}

/** Listens on a free port of 127.0.0.1. */
export async function openDeployment(): Promise<Deployment> {
  const server = http.createServer((request, response) => {
    answer(request).then(
      (body) => {
        if (body === undefined) response.statusCode = 404;
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(body ?? { code: "NotFound", message: `no such endpoint: ${request.url ?? ""}` }));
      },
      (error: unknown) => {
        console.error(error);
        // 400, not 500: the CLI repeats what failed on the server's side.
        response.statusCode = 400;
        response.end(JSON.stringify({ code: "CodegenFailed", message: String(error) }));
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** The body of the response; undefined for an endpoint that does not exist. */
async function answer(request: http.IncomingMessage): Promise<unknown> {
  if (request.url === "/api/get_config_hashes") return EMPTY_DEPLOYMENT;
  if (request.url === "/api/deploy2/start_push") return analyzePush(JSON.parse(await bodyOf(request)) as PushRequest);
  return undefined;
}

/** The CLI compares with these hashes and then sends every module, not only changed ones. */
const EMPTY_DEPLOYMENT = {
  config: { functions: "convex/", authInfo: [] },
  moduleHashes: [],
  nodeDependencies: [],
  udfServerVersion: version,
  nodeVersion: null,
};

async function bodyOf(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const text = request.headers["content-encoding"] === "br" ? brotliDecompressSync(body) : body;
  return text.toString("utf8");
}
