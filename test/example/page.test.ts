// @vitest-environment jsdom
/** The page of example/, as Vite serves it with its functions on the embedded backend. */
import path from "node:path";
import { cleanup, configure, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { ConvexProvider, ConvexReactClient } from "convex/react";
import { createElement } from "react";
import { createServer, type ViteDevServer } from "vite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { App } from "../../example/src/App.js";

// The server loads the functions at the first call.
configure({ asyncUtilTimeout: 20_000 });

let server: ViteDevServer;
let url: string;

beforeAll(async () => {
  const configFile = path.resolve(import.meta.dirname, "../../tools/backend/example.config.ts");
  server = await createServer({ configFile, logLevel: "error", server: { port: 0, watch: null } });
  await server.listen();
  url = server.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? "";
});
afterAll(async () => {
  await server.close();
  vi.restoreAllMocks();
});

it("the page loads, sends until its limit denies, counts down, and shows the answer to a question", async () => {
  expect(await (await fetch(url)).text()).toContain('src="/src/main.tsx"');
  expect(await (await fetch(`${url}/src/main.tsx`)).text()).toContain("ConvexReactClient");

  const webSocketConstructor = WebSocket as unknown as typeof globalThis.WebSocket;
  const client = new ConvexReactClient(url, { webSocketConstructor, unsavedChangesWarning: false });
  render(createElement(ConvexProvider, { client, children: createElement(App) }));
  const submit = (label: string, button: string, text: string) => {
    fireEvent.change(screen.getByLabelText(label), { target: { value: text } });
    fireEvent.click(screen.getByRole("button", { name: button }));
  };
  await waitFor(() => screen.getByText("20000 of 20000 tokens are left today (free)."));
  for (let i = 1; i <= 5; i++) {
    submit("A message", "Send", `message ${i}`);
    await waitFor(() => screen.getByText(`message ${i}`));
  }
  const button = await waitFor(() => screen.getByRole<HTMLButtonElement>("button", { name: /^Again in [1-6] s$/ }));
  expect(button.disabled).toBe(true);

  submit("A question", "Ask", "Why?");
  await waitFor(() => screen.getByText("You asked: Why?"));
  await waitFor(() => screen.getByText("19998 of 20000 tokens are left today (free)."));
  cleanup();
  await client.close();
});
