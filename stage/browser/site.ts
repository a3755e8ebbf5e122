/** Runs `npm start` in a process that can be stopped and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

const root = new URL("../../", import.meta.url).pathname;
const vite = new URL("node_modules/vite/bin/vite.js", `file://${root}`).pathname;
const config = ["--config", "stage/vite.config.ts"];

export async function build(): Promise<void> {
  await run([vite, "build", ...config, "--logLevel", "warn"]);
}

/** `npm run site`, for the folder `base` of a server. */
export async function buildStatic(outDir: string, base: string): Promise<void> {
  await run(["--import", "tsx", "stage/site/build.ts", outDir], { BASE: base });
}

async function run(args: string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const running = spawn(process.execPath, args, {
    cwd: root,
    // `npm start` builds for production. With the test's own NODE_ENV, Vite would make a development build.
    env: { ...process.env, ...env, NODE_ENV: "production" },
    stdio: "inherit",
  });
  const [code] = (await once(running, "exit")) as [number];
  if (code !== 0) throw new Error(`${args.join(" ")} has failed with ${code}.`);
}

export class Site {
  private process: ChildProcess | undefined;

  /** The output of the server. */
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

  /** The address of the page in a fresh room. The page does not play by itself. */
  room(name: string, tab = "burst"): string {
    return `${this.url}/?room=${name}-${Math.random().toString(36).slice(2, 10)}&autoplay=off#${tab}`;
  }

  async start(): Promise<void> {
    const serving = spawn(process.execPath, ["--import", "tsx", "stage/start.ts"], {
      cwd: root,
      // The empty address selects the embedded backend, even if .env.local names a deployment.
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
      // The last line that it prints.
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
