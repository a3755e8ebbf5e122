/** The example's app and the official component, which only the proof uses. Vite loads this module. */
import schema from "../../node_modules/@convex-dev/rate-limiter/dist/component/schema.js";
import type { App } from "../backend/backend.js";
import app from "../backend/app.js";

const generated = () => import("../../node_modules/@convex-dev/rate-limiter/dist/component/_generated/server.js");
const lib = () => import("../../node_modules/@convex-dev/rate-limiter/dist/component/lib.js");

const withOfficial: App = {
  ...app,
  components: {
    ...app.components,
    rateLimiter: { schema, modules: { "./_generated/server.js": generated, "./lib.js": lib } },
  },
};

export default withOfficial;
