/** What the app's own functions return, where the types cannot hold them to it. */
import { show } from "../engine/misuse.js";

/** @throws when it is no response; not instanceof, since a test or a polyfill may have a class of its own. */
export function checkResponse(response: Response, whose: "handler" | "denial"): Response {
  // The types forbid anything else, JavaScript does not.
  const given: unknown = response;
  if (typeof given === "object" && given !== null && "headers" in given && "status" in given) return response;
  throw new TypeError(`The ${whose} of limitHttp must return a Response, got ${show(given)}.`);
}
