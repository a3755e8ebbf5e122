/** Builds the page before the browser tests, which run on the built page. */
export { build as setup } from "./site.js";
