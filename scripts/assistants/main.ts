/** `npm run assistants` writes llms.txt and llms-full.txt. See documents.ts. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { documents } from "./documents.js";

for (const [name, text] of Object.entries(documents())) {
  writeFileSync(path.resolve(import.meta.dirname, "../..", name), text);
}
