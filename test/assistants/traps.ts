/** The mistake that each task is about: in its solution the first text becomes the second. It compiles, or is silent in JavaScript. */
export const TRAPS: Readonly<Record<string, readonly [right: string, wrong: string]>> = {
  // Nobody reads the denial.
  daily: ["throws: true", "throws: false"],
  // A job that throws is not run again.
  retry: ["return { used: 0, again: { after: 1000 } }", 'throw new Error("429")'],
  // Without a look at the keys that were issued, each invented key is a full bucket.
  keys: ["if (plan) return { key, plan }", 'if (key) return { key, plan: plan ?? "free" }'],
  // The throw gives back the token of the guess.
  login: ['return "wrong password"', 'throw new Error("wrong password")'],
  // An alert for each call above the line.
  alert: ["if (!(await alerts.first())) ", ""],
  action: ["throws: true", "throws: false"],
  // A stranger cancels.
  cancel: [" || report.user !== (await callerOf(ctx))", ""],
  // A gift: tokens come back that others have taken since.
  settle: [", takenAt });\n    await ctx.db.patch", " });\n    await ctx.db.patch"],
  // A burst and a minute's refill.
  cap: ["sliding window", "token bucket"],
  invites: ["{ throws: true }", "{}"],
  // A bucket for each plan.
  plans: ["key: subject, plan", "key: `${plan} ${subject}`, plan"],
  // A gift to a full bucket is lost.
  "top-up": [
    'overrideRateLimit(ctx, { name: "exports", key: user, more, until: Date.now() + 7 * DAY })',
    'limits.adjustRateLimit(ctx, { name: "exports", key: user, count: -more })',
  ],
  // The slot of a run that has ended stays taken.
  runs: ["await releaseRateLimit(ctx, ended.lease)", "await Promise.resolve(releaseRateLimit)"],
  // Each sign-in is a full bucket.
  auth: ["await getAuthUserId(ctx)", "(await ctx.auth.getUserIdentity())?.subject"],
  cost: ['cost: fromQuery("days", { default: 1 }),', ""],
  // A check takes nothing.
  images: ["await rateLimit(ctx, { ...image, throws: true })", "await checkRateLimit(ctx, { ...image, throws: true })"],
  // The status of a limit in shadow is always ok.
  shadow: ["status.ok ? status.shadow : status", "status"],
  // The reserved time is ignored.
  spacing: ["runAt(retryAt ?? Date.now(), ", "runAfter(0, "],
  // The bare address is another bucket.
  block: ['await httpKey("address", address)', "address"],
  // The client chooses the key.
  votes: ['callerAddress(ip) ?? "no address"', "args.visitor"],
};
