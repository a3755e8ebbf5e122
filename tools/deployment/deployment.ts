/** A stand-in for a Convex deployment. It has only the endpoints of `convex codegen`, `dev` and `deploy`. It stores nothing. */
import http from "node:http";
import { type AddressInfo } from "node:net";
import { brotliDecompressSync } from "node:zlib";
import { version } from "convex";
import { analyzePush, NO_CHANGE } from "./push.js";
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
        // A deployment answers with 400, and the CLI prints the message. After a server error the CLI would retry.
        response.statusCode = 400;
        response.end(JSON.stringify({ code: "PushRefused", message: String(error) }));
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
  switch (request.url ?? "") {
    case "/api/get_config_hashes":
      return EMPTY_DEPLOYMENT;
    case "/api/v1/get_canonical_urls": {
      const url = `http://${request.headers.host ?? ""}`;
      return { convexCloudUrl: url, convexSiteUrl: url };
    }
    case "/api/deploy2/start_push":
      return analyzePush(JSON.parse(await bodyOf(request)) as PushRequest);
    // The CLI warns of slow changes of a schema. None is slow here, because every table is empty.
    case "/api/deploy2/evaluate_push":
      return { schemaChange: NO_CHANGE };
    case "/api/deploy2/evaluate_schema":
      return { componentSchemaEvaluations: {}, newComponentDefinitions: [] };
    case "/api/deploy2/wait_for_schema":
      return { type: "complete" };
    case "/api/deploy2/finish_push":
      return { authDiff: { added: [], removed: [] }, definitionDiffs: {}, componentDiffs: {} };
    case "/api/deploy2/report_push_completed":
      return null;
    default:
      return undefined;
  }
}

/** The CLI compares its modules with these hashes. There are none, so it sends every module and not only changed ones. */
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
