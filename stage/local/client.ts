/** The page's side of the backend in a worker: a WebSocket and a `fetch` that stay on this page. */
import type { FromPage, ToPage } from "./worker.js";

const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
const sockets = new Map<number, LocalSocket>();
const fetching = new Map<number, (response: Response) => void>();
let numbers = 0;

const post = (message: FromPage) => {
  worker.postMessage(message);
};

worker.onmessage = ({ data }: MessageEvent<ToPage>) => {
  if ("text" in data) sockets.get(data.to)?.onmessage?.(new MessageEvent("message", { data: data.text }));
  else fetching.get(data.fetched)?.(new Response(data.body, data.init));
};

/** As much of a WebSocket as Convex's client uses. */
export class LocalSocket {
  onopen?: (event: Event) => void;
  onmessage?: (event: MessageEvent) => void;
  onerror?: (event: Event) => void;
  onclose?: (event: CloseEvent) => void;
  readonly #number = ++numbers;

  constructor(readonly url: string) {
    sockets.set(this.#number, this);
    post({ open: this.#number });
    queueMicrotask(() => this.onopen?.(new Event("open")));
  }

  send(text: string): void {
    post({ to: this.#number, text });
  }

  close(): void {
    post({ close: this.#number });
    sockets.delete(this.#number);
    queueMicrotask(() => this.onclose?.(new CloseEvent("close", { code: 1000 })));
  }
}

export async function localFetch(url: string): Promise<Response> {
  const number = ++numbers;
  const response = await new Promise<Response>((resolve) => {
    fetching.set(number, resolve);
    post({ fetch: number, url });
  });
  fetching.delete(number);
  return response;
}
