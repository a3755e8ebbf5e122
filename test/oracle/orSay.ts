/** A failure with the name of its world before its message. */
export async function orSay(world: string, play: Promise<void>): Promise<void> {
  await play.catch((error: unknown) => {
    if (error instanceof Error) error.message = `${world}: ${error.message}`;
    throw error;
  });
}
