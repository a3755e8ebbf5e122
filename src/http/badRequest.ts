/** What a request carries and no limit can count: the client's fault, answered with 400 and reported to nobody. */
export class BadRequestError extends Error {
  override readonly name = "BadRequestError";
}
