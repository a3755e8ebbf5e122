/** The rules of a deployment for names. */

const LONGEST = 64;

/** Why a deployment refuses the name of a table, an index, a function or a component; undefined if it accepts the name. */
export function nameFault(name: string): string | undefined {
  if (name.length > LONGEST) return `the name ${name} has more than ${LONGEST} characters`;
  if (/^[A-Za-z_]\w*$/.test(name) && /[^_]/.test(name)) return undefined;
  return `the name ${name} is not letters, digits and underscores that begin with a letter`;
}

/** Why a deployment refuses the path of a module, relative to the folder with the functions. */
export function pathFault(file: string): string | undefined {
  if (!file.endsWith(".js")) return `the module ${file} does not end in .js`;
  const odd = file
    .split("/")
    .find((part) => part.length > LONGEST || !/^[\w.]+$/.test(part) || !/[A-Za-z0-9]/.test(part));
  if (odd === undefined) return undefined;
  return `the path ${file} has a part that is not up to ${LONGEST} letters, digits, underscores and periods: ${odd}`;
}

/** Why a deployment refuses the path of a component's folder, relative to the app's. The path may lead out of the app's folder. */
export function definitionPathFault(path: string): string | undefined {
  const isPlain = !path.startsWith("/") && /^[\x20-\x7e]*$/.test(path) && !path.includes("\\");
  return isPlain ? undefined : `the component's path ${path} is not relative, of printable ASCII characters`;
}

/** @throws Error with the fault, if there is one */
export function refuseIf(fault: string | undefined): void {
  if (fault !== undefined) throw new Error(fault);
}
