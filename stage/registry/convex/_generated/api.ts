import type { ComponentApi } from "convex-rate-limits/_generated/component.js";
import { anyApi, type ApiFromModules, componentsGeneric, type FilterApi, type FunctionReference } from "convex/server";
import type * as limits from "../limits.js";
import type * as tokens from "../tokens.js";

type Modules = ApiFromModules<{ limits: typeof limits; tokens: typeof tokens }>;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const internal: FilterApi<Modules, FunctionReference<any, "internal">> = anyApi as never;
export const components = componentsGeneric() as unknown as { rateLimits: ComponentApi<"rateLimits"> };
