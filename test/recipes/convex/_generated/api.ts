import { anyApi, type ApiFromModules, type FilterApi, type FunctionReference } from "convex/server";
import type * as anonymous from "../anonymous.js";
import type * as geocoder from "../geocoder.js";
import type * as images from "../images.js";
import type * as logins from "../logins.js";
import type * as notes from "../notes.js";
import type * as partner from "../partner.js";
import type * as reports from "../reports.js";

type Modules = ApiFromModules<{
  anonymous: typeof anonymous;
  geocoder: typeof geocoder;
  images: typeof images;
  logins: typeof logins;
  notes: typeof notes;
  partner: typeof partner;
  reports: typeof reports;
}>;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const api: FilterApi<Modules, FunctionReference<any, "public">> = anyApi as never;
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the generated file has it.
export const internal: FilterApi<Modules, FunctionReference<any, "internal">> = anyApi as never;
