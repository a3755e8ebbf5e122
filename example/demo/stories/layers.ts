import { api } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { signUp } from "../people.js";
import { check, heading, table, wait } from "../report.js";

/** Who uploads how often, and for which team. */
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
    ["who", "team", "outcome"],
    ...results.map(({ name, team, ...result }) => [
      name,
      team,
      result.ok
        ? `uploaded; left: ${result.left.join(", ")}`
        : `stopped in the layer: ${result.full.join(", ")}; again in ${wait(result.retryAt - start)}`,
    ]),
  ]);

  const denied = results.flatMap(({ name, ...result }) => (result.ok ? [] : [`${name}: ${result.full.join()}`]));
  check(
    "each was stopped by the layer that was used up",
    denied.join("; ") === "Ada: user; Bob: team; Dee: everyone",
    denied,
  );
  const granted = results.filter(({ ok }) => ok);
  // Were a denial to take from the layers that had room, fewer than 8 would get through.
  check("a denial took nothing from the other layers: exactly 8 went through", granted.length === 8, granted.length);
}
