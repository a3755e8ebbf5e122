/**
 * A tab behind another one, which the browser really slows down. Playwright keeps all of its pages visible and awake, so this class
 * starts its own browser and uses the DevTools protocol.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { EXECUTABLE, FLAGS } from "./chromium.js";

interface Reply {
  id?: number;
  result?: { targetId?: string; sessionId?: string; result?: { value?: unknown }; exceptionDetails?: unknown };
  error?: unknown;
}

export class HiddenTab {
  private constructor(
    private readonly send: (method: string, params?: object) => Promise<Reply["result"]>,
    /** Ends the browser. */
    readonly close: () => Promise<void>,
  ) {}

  /** Starts a browser and opens a page in front. */
  static async open(url: string): Promise<HiddenTab> {
    const profile = await mkdtemp(join(tmpdir(), "hidden-tab-"));
    const browser = spawn(
      EXECUTABLE,
      [...FLAGS, "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"],
      {
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    const ended = once(browser, "exit");
    let output = "";
    let address: string | undefined;
    for await (const chunk of browser.stderr) {
      output += String(chunk);
      address = /ws:\/\/\S+/.exec(output)?.[0];
      if (address) break;
    }
    if (!address) throw new Error(`The browser does not say where it listens: ${output}`);
    const socket = new WebSocket(address);
    await once(socket, "open");
    const waiting = new Map<number, (reply: Reply) => void>();
    socket.on("message", (data: Buffer) => {
      const reply = JSON.parse(data.toString()) as Reply;
      if (reply.id !== undefined) waiting.get(reply.id)?.(reply);
    });
    let sessionId: string | undefined;
    const send = async (method: string, params: object = {}) => {
      const id = waiting.size + 1;
      const reply = await new Promise<Reply>((resolve) => {
        waiting.set(id, resolve);
        socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }));
      });
      if (reply.error !== undefined) throw new Error(`${method}: ${JSON.stringify(reply.error)}`);
      return reply.result;
    };
    const page = await send("Target.createTarget", { url });
    const attached = await send("Target.attachToTarget", { targetId: page?.targetId, flatten: true });
    const tab = new HiddenTab(
      (method, params) => {
        sessionId = method.startsWith("Target.") ? undefined : attached?.sessionId;
        return send(method, params);
      },
      async () => {
        socket.close();
        browser.kill("SIGKILL");
        await ended;
        await rm(profile, { recursive: true, force: true, maxRetries: 5 });
      },
    );
    return tab;
  }

  /** Opens another tab in front of this one. */
  async hide(): Promise<void> {
    await this.send("Target.createTarget", { url: "about:blank" });
  }

  /** Runs a function in the page. */
  async evaluate<Result>(run: () => Result): Promise<Result> {
    const answer = await this.send("Runtime.evaluate", {
      expression: `(${String(run)})()`,
      returnByValue: true,
      awaitPromise: true,
    });
    if (answer?.exceptionDetails !== undefined) throw new Error(JSON.stringify(answer.exceptionDetails));
    return answer?.result?.value as Result;
  }
}
