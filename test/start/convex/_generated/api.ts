import { anyApi, type ApiFromModules, type FilterApi, type FunctionReference } from "convex/server";
import type * as messages from "../messages.js";
import type * as quota from "../quota.js";

type Modules = ApiFromModules<{ messages: typeof messages; quota: typeof quota }>;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const api: FilterApi<Modules, FunctionReference<any, "public">> = anyApi as never;
