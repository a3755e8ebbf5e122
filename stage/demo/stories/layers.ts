import { api } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { signUp } from "../people.js";
import { check, heading, table, wait } from "../report.js";

/** The users, with the number of their uploads and their team. */
const UPLOADS = [
  { name: "Ada", team: "red", times: 4 },
  { name: "Bob", team: "red", times: 3 },
  { name: "Cem", team: "blue", times: 3 },
  { name: "Dee", team: "green", times: 1 },
];

export async function layers(backend: Backend): Promise<void> {
  heading("Three layers at once, all or nothing", "uploads: 3 a minute for each user, 5 for each team, 8 for everyone");
  const start = Date.now();
  const results = [];
  for (const { name, team, times } of UPLOADS) {
    const user = await signUp(backend, name);
    for (let i = 0; i < times; i++) {
      results.push({ name, team, ...(await backend.mutation(api.uploads.upload, { user, team, file: `${i}.png` })) });
    }
  }

  table([
    ["user", "team", "outcome"],
    ...results.map(({ name, team, ...result }) => [
      name,
      team,
      result.ok
        ? `uploaded; left: ${result.left.join(", ")}`
        : `denied by the layer: ${result.full.join(", ")}; again in ${wait(result.retryAt - start)}`,
    ]),
  ]);

  const denied = results.flatMap(({ name, ...result }) => (result.ok ? [] : [`${name}: ${result.full.join()}`]));
  check(
    "each was denied by the layer that was used up",
    denied.join("; ") === "Ada: user; Bob: team; Dee: everyone",
    denied,
  );
  const granted = results.filter(({ ok }) => ok);
  // If a denial took tokens from the layers that had some, fewer than 8 would be allowed.
  check("a denial took nothing from the other layers: exactly 8 were allowed", granted.length === 8, granted.length);
}
