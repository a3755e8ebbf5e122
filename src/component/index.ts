/** convex-rate-limits/component, at the path from which tools that measure or read the package load it. */
export * from "../client/component.js";
