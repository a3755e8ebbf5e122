/** A fault is found in every run or in none: properties draw the same values each time. Nobody reads the smallest counterexample. */
import fc from "fast-check";

fc.configureGlobal({ seed: 1, endOnFailure: true });
