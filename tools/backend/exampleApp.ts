/// <reference types="vite/client" />
/** The app of example/ for the embedded backend, with the component that it installs. */
import rateLimits from "convex-rate-limits/test";
import schema from "../../example/convex/schema.js";
import type { App } from "./backend.js";

const app: App = {
  schema,
  modules: import.meta.glob(["../../example/convex/**/*.{ts,js}", "!**/*.d.ts", "!**/convex.config.ts"]),
  components: { rateLimits: { schema: rateLimits.schema, modules: rateLimits.modules } },
};

export default app;
