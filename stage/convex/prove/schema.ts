/** The table in which a run's functions write for its driver. It is empty when the run is over. */
import { defineTable } from "convex/server";
import { v } from "convex/values";

export const rowFields = {
  run: v.string(),
  /** Which check wrote it. */
  label: v.string(),
  n: v.optional(v.number()),
  text: v.optional(v.string()),
  /** When it was due, and when it was written: milliseconds since the epoch. */
  dueAt: v.optional(v.number()),
  at: v.optional(v.number()),
};

export const proveTables = {
  proofRows: defineTable(rowFields).index("by_run_label_n", ["run", "label", "n"]),
};
