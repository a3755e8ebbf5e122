/** `npm run demo`: runs three stories of the example in five seconds, or with `--all` all of them. Checks the law of each story. */
import { makeTimersPunctual } from "../../tools/backend/timers.js";
import { openBackend } from "./backend.js";
import { check, title, verdict } from "./report.js";
import * as short from "./short.js";
import { agent } from "./stories/agent.js";
import { burst } from "./stories/burst.js";
import { fairness } from "./stories/fairness.js";
import { layers } from "./stories/layers.js";
import { lockouts } from "./stories/lockouts.js";
import { logins } from "./stories/logins.js";
import { plans } from "./stories/plans.js";
import { llmJobs } from "./stories/llmJobs.js";
import { rollback } from "./stories/rollback.js";
import { signUps, thirdParty } from "./stories/windows.js";

const all = [burst, logins, lockouts, llmJobs, agent, fairness, layers, rollback, signUps, thirdParty, plans];
const isAll = process.argv.includes("--all");

makeTimersPunctual();
title("convex-rate-limits: the functions of stage/convex on convex-test, in this process and in real time.");
title(
  isAll
    ? "All stories; takes about half a minute."
    : "Three stories: a rollback, a burst, reservations; takes about 5 s.",
);

for (const story of isAll ? all : [short.rollback, short.burst, short.reservations]) {
  try {
    await story(openBackend());
  } catch (error) {
    console.error(error);
    check(`the story "${story.name}" runs to its end`, false, String(error));
  }
}

process.exitCode = verdict() ? 0 : 1;
if (!isAll)
  console.log("Next: `npm start` opens the page; `npm run demo -- --all` runs all stories. Then: docs/start.md");
