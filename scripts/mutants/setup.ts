/** Runs before each file of tests, so that all tests that could notice a fault judge it, and two runs judge alike. */
import fc from "fast-check";
import { beforeEach } from "vitest";
import { makeFields } from "../../src/engine/kinds/fields.js";

// The table is made once. Without this only the first test of a file would reach what makes it, and the tool would run no other.
beforeEach(() => void makeFields());

// `endOnFailure` skips the search for the smallest counterexample, which nobody reads.
fc.configureGlobal({ seed: 1, endOnFailure: true });
