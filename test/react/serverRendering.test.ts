// @vitest-environment jsdom
import { act } from "@testing-library/react";
import { MINUTE, SECOND } from "convex-rate-limits";
import { useCountdown, useRateLimit } from "convex-rate-limits/react";
import { createElement, type ReactNode } from "react";
import { hydrateRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { afterEach, expect, it, vi } from "vitest";
import { empty, NOW } from "../browser/changes.js";
import { useClock } from "../support/clock.js";
import { FakeClient, getRateLimit } from "./fakeClient.js";

let root: Root | undefined;
useClock(NOW);
afterEach(() => {
  act(() => root?.unmount());
  document.body.innerHTML = "";
});

function Limit(): ReactNode {
  const { status } = useRateLimit(getRateLimit);
  const seconds = useCountdown(NOW + 90 * SECOND);
  return createElement("p", null, status ? `ok ${status.ok}` : "loading", " ", seconds ?? "…");
}

const page = (client: FakeClient) => createElement(client.wrapper, null, createElement(Limit));

it("the server renders no answer that depends on the time, so hydration finds no mismatch", () => {
  const errors = vi.spyOn(console, "error").mockReturnValue();
  const client = new FakeClient();
  // The worst case: both sides have the snapshot, and the browser renders a minute later.
  client.show(empty);
  const html = renderToString(page(client));
  expect(html).toContain("loading");

  vi.setSystemTime(NOW + MINUTE);
  const container = document.createElement("div");
  container.innerHTML = html;
  document.body.append(container);
  const mismatches: unknown[] = [];
  act(() => {
    root = hydrateRoot(container, page(client), { onRecoverableError: (error) => mismatches.push(error) });
  });

  expect(mismatches).toEqual([]);
  expect(errors).not.toHaveBeenCalled();
  expect(container.textContent).toBe("ok true 30");
});
