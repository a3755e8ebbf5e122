import { anyApi, type ApiFromModules, type FilterApi, type FunctionReference } from "convex/server";
import type * as admin from "../admin.js";

type Modules = ApiFromModules<{ admin: typeof admin }>;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const internal: FilterApi<Modules, FunctionReference<any, "internal">> = anyApi as never;
