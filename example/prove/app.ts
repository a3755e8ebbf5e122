/** The example's app with the official component beside it, which only the proof uses. Loaded through Vite. */
import schema from "../../node_modules/@convex-dev/rate-limiter/dist/component/schema.js";
import type { App } from "../embedded/backend.js";
import app from "../embedded/app.js";

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
