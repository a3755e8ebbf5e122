/** Before the browser tests: they run on the built page. */
export { build as setup } from "./site.js";
