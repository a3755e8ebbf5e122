declare module "*?code" {
  import type { PackedPiece } from "../site/code.js";
  /** The lines of a module, in pieces. */
  const lines: PackedPiece[][];
  export default lines;
}
