/** The stories, in the order of the tabs. */
import type { ReactNode } from "react";
import { api } from "../../convex/_generated/api.js";
import burst from "../../convex/stage/burst.ts?code";
import admin from "../../convex/stage/admin.ts?code";
import gate from "../../convex/stage/gate.ts?code";
import hot from "../../convex/stage/hot.ts?code";
import login from "../../convex/stage/login.ts?code";
import plans from "../../convex/stage/plans.ts?code";
import promises from "../../convex/stage/promises.ts?code";
import queue from "../../convex/stage/queue.ts?code";
import runs from "../../convex/stage/runs.ts?code";
import rollback from "../../convex/stage/rollback.ts?code";
import several from "../../convex/stage/several.ts?code";
import windows from "../../convex/stage/windows.ts?code";
import official from "../hot/official.ts?code";
import type { PackedPiece, Piece } from "../../site/code.js";
import { room } from "../room.js";
import type { CodeFile, EditableLimits } from "../stage/CodePane.js";
import { Admin } from "./Admin.js";
import { Burst } from "./Burst.js";
import { Hot } from "./Hot.js";
import { Http } from "./Http.js";
import { Login } from "./Login.js";
import { Plans } from "./Plans.js";
import { Queue } from "./Queue.js";
import { Rollback } from "./Rollback.js";
import { Several } from "./Several.js";
import { Windows } from "./Windows.js";

export interface Tab {
  /** The part of the address after the "#". */
  id: string;
  title: string;
  Panel: (props: { count: number; view: number; onView: (view: number) => void }) => ReactNode;
  /** The code that the tab runs: one list of files for each of its views. */
  views: readonly (readonly CodeFile[])[];
  /** The limits whose numbers may be edited in the code. */
  limits: EditableLimits;
  /** The tokens that a call takes: the number in the code, until it is edited. */
  count: number;
}

type Packed = readonly (readonly PackedPiece[])[];

const fileAt = (path: string, packed: Packed): CodeFile => ({ path, lines: packed.map((line) => line.map(unpack)) });

const moduleAt = (name: string, packed: Packed): CodeFile[] => [fileAt(`stage/convex/stage/${name}.ts`, packed)];

function unpack(piece: PackedPiece): Piece {
  if (typeof piece === "string") return { text: piece };
  const [text, kind, edit] = piece;
  return { text, ...(kind && { kind }), ...(edit && { edit }) };
}

/** The count that is written in the code. */
function countIn(packed: Packed): number {
  const piece = packed
    .flat()
    .map(unpack)
    .find(({ edit }) => edit?.field === "count");
  return Number(piece?.text ?? 1);
}

const { stage } = api;

export const TABS: readonly Tab[] = [
  {
    id: "rollback",
    title: "It rolls back",
    Panel: Rollback,
    views: [moduleAt("rollback", rollback)],
    limits: { message: { query: stage.rollback.bucket } },
    count: 1,
  },
  {
    id: "hot",
    title: "Under load",
    Panel: Hot,
    views: [[...moduleAt("hot", hot), fileAt("stage/src/hot/official.ts", official)]],
    limits: {},
    count: 1,
  },
  {
    id: "burst",
    title: "Stop spam",
    Panel: Burst,
    views: [moduleAt("burst", burst)],
    limits: { send: { query: stage.burst.bucket } },
    count: countIn(burst),
  },
  {
    id: "queue",
    title: "Queue LLM calls",
    Panel: Queue,
    views: [moduleAt("queue", queue), moduleAt("promises", promises), moduleAt("runs", runs)],
    limits: { model: { query: stage.promises.bucket } },
    count: countIn(promises),
  },
  {
    id: "login",
    title: "Lock out guessers",
    Panel: Login,
    views: [moduleAt("login", login)],
    limits: { failedLogin: { query: stage.login.attempts } },
    count: 1,
  },
  {
    id: "several",
    title: "User + team + everyone",
    Panel: Several,
    views: [moduleAt("several", several)],
    limits: {
      byUser: { query: stage.several.user, key: `${room} Ada` },
      byTeam: { query: stage.several.team },
      everyone: { query: stage.several.everyone },
    },
    count: 1,
  },
  {
    id: "http",
    title: "HTTP 429",
    Panel: Http,
    views: [moduleAt("gate", gate)],
    limits: { requests: { query: stage.gate.bucket } },
    count: 1,
  },
  {
    id: "windows",
    title: "Pick a window",
    Panel: Windows,
    views: [moduleAt("windows", windows)],
    limits: {
      bucket: { query: stage.windows.bucket },
      fixed: { query: stage.windows.fixed },
      sliding: { query: stage.windows.sliding },
      calendar: { query: stage.windows.calendar },
    },
    count: countIn(windows),
  },
  {
    id: "plans",
    title: "Plans",
    Panel: Plans,
    views: [moduleAt("plans", plans)],
    limits: {},
    count: 1,
  },
  {
    id: "admin",
    title: "Support desk",
    Panel: Admin,
    views: [moduleAt("admin", admin)],
    limits: {},
    count: 1,
  },
];
