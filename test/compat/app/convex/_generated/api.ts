import type { ComponentApi } from "@convex-dev/rate-limiter/_generated/component.js";
import { anyApi, type ApiFromModules, componentsGeneric, type FilterApi, type FunctionReference } from "convex/server";
import type * as messages from "../messages.js";

type Modules = ApiFromModules<{ messages: typeof messages }>;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const api: FilterApi<Modules, FunctionReference<any, "public">> = anyApi as never;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const internal: FilterApi<Modules, FunctionReference<any, "internal">> = anyApi as never;
export const components = componentsGeneric() as unknown as { rateLimiter: ComponentApi<"rateLimiter"> };
