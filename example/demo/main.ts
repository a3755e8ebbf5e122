/** `npm run demo`: the example's stories, in real time, each held to the law it shows. */
import { openBackend } from "./backend.js";
import { makeTimersPunctual } from "./clock.js";
import { check, title, verdict } from "./report.js";
import { agent } from "./stories/agent.js";
import { burst } from "./stories/burst.js";
import { fairness } from "./stories/fairness.js";
import { layers } from "./stories/layers.js";
import { lockouts } from "./stories/lockouts.js";
import { logins } from "./stories/logins.js";
import { plans } from "./stories/plans.js";
import { queue } from "./stories/queue.js";
import { rollback } from "./stories/rollback.js";
import { signUps, thirdParty } from "./stories/windows.js";

makeTimersPunctual();
title("The example backend on the embedded engine, in real time. Moments count from the start of a story.");

for (const story of [burst, logins, lockouts, queue, agent, fairness, layers, rollback, signUps, thirdParty, plans]) {
  try {
    await story(openBackend());
  } catch (error) {
    console.error(error);
    check(`the story "${story.name}" goes to its end`, false, String(error));
  }
}

process.exitCode = verdict() ? 0 : 1;
