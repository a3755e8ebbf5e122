/** Runs before each file of tests, so that all tests that could notice a fault judge it, and two runs judge alike. */
import fc from "fast-check";

// `endOnFailure` skips the search for the smallest counterexample, which nobody reads.
fc.configureGlobal({ seed: 1, endOnFailure: true });
