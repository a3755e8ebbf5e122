declare module "*?code" {
  import type { Piece } from "../site/code.js";
  /** The lines of a module, in pieces. */
  const lines: Piece[][];
  export default lines;
}
