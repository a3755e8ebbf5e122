import { anyApi, type ApiFromModules, componentsGeneric, type FilterApi, type FunctionReference } from "convex/server";
import type { ComponentApi } from "../../../../../convex/_generated/component.js";
import type * as gateway from "../gateway.js";
import type * as keys from "../keys.js";

type Modules = ApiFromModules<{ gateway: typeof gateway; keys: typeof keys }>;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const internal: FilterApi<Modules, FunctionReference<any, "internal">> = anyApi as never;
export const components = componentsGeneric() as unknown as { rateLimits: ComponentApi };
