/** Blocks of the docs by name: pages.ts makes them, and test/tidy compiles them with their types. */
declare module "docs:*";
