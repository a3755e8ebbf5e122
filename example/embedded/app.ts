/// <reference types="vite/client" />
/** The app that the embedded backend runs: all of example/convex, and the component it installs. Loaded through Vite. */
import rateLimits from "convex-rate-limits/test";
import schema from "../convex/schema.js";
import type { App } from "./backend.js";

const app: App = {
  schema,
  // convex.config.ts is for the CLI; what it installs is listed here.
  modules: import.meta.glob(["../convex/**/*.{ts,js}", "!**/*.d.ts", "!**/convex.config.ts"]),
  components: { rateLimits: { schema: rateLimits.schema, modules: rateLimits.modules } },
};

export default app;
