/// <reference types="vite/client" />
/** The app that the embedded backend runs: all of stage/convex, and the component that it installs. Vite loads it. */
import rateLimits from "convex-rate-limits/test";
import schema from "../../stage/convex/schema.js";
import type { App } from "./backend.js";

const app: App = {
  schema,
  // convex.config.ts is for the CLI. The components that it installs are listed here again.
  modules: import.meta.glob(["../../stage/convex/**/*.{ts,js}", "!**/*.d.ts", "!**/convex.config.ts"]),
  components: { rateLimits: { schema: rateLimits.schema, modules: rateLimits.modules } },
};

export default app;
