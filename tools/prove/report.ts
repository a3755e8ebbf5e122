/** The report of a run. It can be committed: it names neither the deployment nor the caller. */
import type { Check, Effort, Seen, Verdict } from "./check.js";

export interface Result extends Omit<Seen, "holds"> {
  readonly check: Pick<Check, "subject" | "name" | "expected">;
  readonly verdict: Verdict;
}

export interface Report {
  /** When it began. */
  readonly date: string;
  readonly target: string;
  readonly effort: Effort["name"];
  readonly versions: string;
  readonly calls: number;
  readonly seconds: number;
  readonly results: readonly Result[];
}

export function verdictOf(check: Check, isEmbedded: boolean, holds: boolean): Verdict {
  if (isEmbedded && check.notEmbedded !== undefined) return "not applicable here";
  return holds ? "passed" : "failed";
}

export function countOf(results: readonly Result[]): string {
  const count = (verdict: Verdict) => results.filter((result) => result.verdict === verdict).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("not applicable here")} not applicable here`;
}

export function markdownOf({ date, target, effort, versions, calls, seconds, results }: Report): string {
  const subjects = [...new Set(results.map(({ check }) => check.subject))];
  const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");
  const sections = subjects.map((subject) => {
    const rows = results.filter(({ check }) => check.subject === subject);
    return [
      `## ${subject}`,
      "",
      "| check | expected | seen | verdict |",
      "| --- | --- | --- | --- |",
      ...rows.map(
        ({ check, seen, verdict }) => `| ${[check.name, check.expected, seen, verdict].map(cell).join(" | ")} |`,
      ),
    ].join("\n");
  });
  return [
    `# Proof of ${date.slice(0, 10)}, ${target}`,
    "",
    `${countOf(results)}. \`npm run prove\`, ${effort}: ${calls} calls at most, in ${seconds} s. ${versions}.`,
    "",
    sections.join("\n\n"),
    "",
  ].join("\n");
}
