/** Arguments as they are sent and stored: undefined is no value there. */
export function present<Args extends object>(args: Args): Args {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined)) as Args;
}
