/** The requests of `ConvexHttpClient` (POST /api/…), and the app's HTTP actions (under /http/). */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JSONValue } from "convex/values";
import type { Backend, FunctionType, Outcome } from "./backend.js";
import { encodeTimestamp, nextTimestamp } from "./timestamps.js";

/** The HTTP status with which Convex answers if a function throws. */
const FUNCTION_FAILED = 560;
/** Convex's limit for the arguments of a function: 16 MiB. */
const MOST_BYTES = 16 * 2 ** 20;

const FUNCTION_TYPES: Record<string, FunctionType | "any"> = {
  "/api/query": "query",
  "/api/query_at_ts": "query",
  "/api/mutation": "mutation",
  "/api/action": "action",
  // `npx convex run` calls this path.
  "/api/function": "any",
};

/** Whether the embedded backend answers this path, instead of the page's server. */
export function isForBackend(url: string): boolean {
  return /^\/(api|http)(\/|$)/.test(url);
}

export async function answer(backend: Backend, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url ?? "/", "http://embedded");
  try {
    const body = await readBody(request);
    if (pathname.startsWith("/http/")) {
      await answerHttpAction(backend, `${pathname.slice("/http".length)}${search}`, request, body, response);
      return;
    }
    if (request.method !== "POST") throw new BadRequest(405, "Only POST is allowed here.");
    if (pathname === "/api/query_ts") {
      sendJson(response, 200, { ts: encodeTimestamp(nextTimestamp()) });
      return;
    }
    const type = FUNCTION_TYPES[pathname];
    if (!type) throw new BadRequest(404, `There is no ${pathname} on the embedded backend.`);
    const { path, args } = parseCall(body.toString("utf8"));
    const outcome = await backend.run(type, path, args);
    sendJson(response, outcome.ok ? 200 : FUNCTION_FAILED, result(outcome));
  } catch (error) {
    const status = error instanceof BadRequest ? error.status : 500;
    const message = error instanceof Error ? error.message : String(error);
    sendJson(response, status, { code: status === 500 ? "InternalServerError" : "BadRequest", message });
  }
}

class BadRequest extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new BadRequest(413, `A request may have at most ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseCall(body: string): { path: string; args: JSONValue } {
  let call: unknown;
  try {
    call = JSON.parse(body);
  } catch {
    throw new BadRequest(400, "The body is not JSON.");
  }
  if (typeof call !== "object" || call === null || !("path" in call) || typeof call.path !== "string") {
    throw new BadRequest(400, 'The body must be an object with a "path".');
  }
  const given: unknown = "args" in call ? call.args : undefined;
  const args: unknown = Array.isArray(given) ? given[0] : given;
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new BadRequest(400, '"args" must be an object, or an array of one.');
  }
  return { path: call.path, args: args as JSONValue };
}

function result(outcome: Outcome): object {
  if (outcome.ok) return { status: "success", value: outcome.value, logLines: [] };
  const data = outcome.data === undefined ? {} : { errorData: outcome.data };
  return { status: "error", errorMessage: outcome.message, ...data, logLines: [] };
}

async function answerHttpAction(
  backend: Backend,
  path: string,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  // Every proxy adds the client's address, so the one in front of a deployment does.
  if (request.socket.remoteAddress) headers.append("x-forwarded-for", request.socket.remoteAddress);
  const method = request.method ?? "GET";
  const hasBody = method !== "GET" && method !== "HEAD" && body.length > 0;
  const answered = await backend.fetchHttp(path, { method, headers, ...(hasBody && { body: new Uint8Array(body) }) });
  const content = Buffer.from(await answered.arrayBuffer());
  response.writeHead(answered.status, [...answered.headers].flat()).end(content);
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  response.end(JSON.stringify(value));
}
