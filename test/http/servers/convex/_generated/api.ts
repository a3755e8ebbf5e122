import { anyApi, type ApiFromModules, type FilterApi, type FunctionReference } from "convex/server";
import type * as gate from "../gate.js";

type Modules = ApiFromModules<{ gate: typeof gate }>;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const api: FilterApi<Modules, FunctionReference<any, "public">> = anyApi as never;
