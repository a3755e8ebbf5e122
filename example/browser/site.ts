/** What `npm start` runs, in a process that can be stopped and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

const root = new URL("../../", import.meta.url).pathname;
const vite = new URL("node_modules/vite/bin/vite.js", `file://${root}`).pathname;
const config = ["--config", "example/vite.config.ts"];

export async function build(): Promise<void> {
  const building = spawn(process.execPath, [vite, "build", ...config, "--logLevel", "warn"], {
    cwd: root,
    // As npm start builds it; a test's own environment makes a build for development of it.
    env: { ...process.env, NODE_ENV: "production" },
    stdio: "inherit",
  });
  const [code] = (await once(building, "exit")) as [number];
  if (code !== 0) throw new Error(`vite build has failed with ${code}.`);
}

export class Site {
  private process: ChildProcess | undefined;

  /** What the server has printed. */
  said = "";

  private constructor(
    private readonly port: number,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  /** Serves the built page on a free port. */
  static async open(env: NodeJS.ProcessEnv = {}): Promise<Site> {
    const site = new Site(await freePort(), env);
    await site.start();
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The page, in a room that nobody else has; it does not play by itself. */
  room(name: string, tab = "burst"): string {
    return `${this.url}/?room=${name}-${Math.random().toString(36).slice(2, 10)}&autoplay=off#${tab}`;
  }

  async start(): Promise<void> {
    const serving = spawn(process.execPath, ["--import", "tsx", "example/start.ts"], {
      cwd: root,
      // Whatever .env.local says.
      env: {
        ...process.env,
        VITE_CONVEX_URL: "",
        ...this.env,
        NODE_ENV: "production",
        PORT: String(this.port),
        NO_COLOR: "1",
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.process = serving;
    this.said = "";
    for await (const chunk of serving.stdout) {
      this.said += String(chunk);
      // The last thing that it says.
      if (/npm start(, on the embedded backend)?\n/.test(this.said)) break;
    }
    if (!this.said.includes(`:${this.port}/`)) throw new Error(`The server does not say where it is: ${this.said}`);
  }

  async stop(): Promise<void> {
    if (!this.process) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await ended;
    this.process = undefined;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
