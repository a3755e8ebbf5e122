import { defineComponent } from "convex/server";
import rateLimits from "convex-rate-limits/convex.config.js";

const component = defineComponent("inner");
component.use(rateLimits);

export default component;
