/** The apps that a reader of the docs writes, word for word. They are folders of the fresh app and use its packages. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { blocksOf, blocksOfPlace, movedApp } from "../docs/pages.js";

const component = blocksOfPlace();

/** The files of each app. Its tests are in test/package/app/journeys; those of `tables` are the page's own. */
const JOURNEYS = {
  tables: blocksOf("start,testing"),
  component: new Map([...blocksOf("start"), ...component, ...some(blocksOf("testing,http"), "app.setup", "http")]),
  queue: blocksOf("queue"),
  react: new Map([
    ...some(blocksOf("react"), "agent", "caller", "limits", "SendButton", "Usage", "Gauge", "Place"),
    ...some(component, "convex.config"),
  ]),
  moved: movedApp(),
};

/** The files of these names, without their folders and types. */
function some(files: ReadonlyMap<string, string>, ...names: string[]): Map<string, string> {
  return new Map([...files].filter(([file]) => names.includes(path.parse(file).name)));
}

/** Writes the apps into a folder of an installed app, with its settings, and returns their folders. */
export function writeJourneys(app: string): string[] {
  return Object.entries(JOURNEYS).map(([name, files]) => {
    const folder = path.join(app, "journeys", name);
    for (const [file, text] of files) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    writeFileSync(path.join(folder, "convex/tsconfig.json"), SETTINGS);
    // The CLI reads the manifest, and looks for the compiler, in the app's own folder.
    for (const shared of ["package.json", "node_modules"])
      symlinkSync(path.join(app, shared), path.join(folder, shared));
    return folder;
  });
}

/** The app around them checks the declarations of packages. */
const SETTINGS = JSON.stringify({
  extends: "../../../tsconfig.json",
  compilerOptions: { skipLibCheck: true },
  include: [".", "../src"],
});
