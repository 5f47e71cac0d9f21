/** The exit code of a stranger's run that says that something was found; anything else but 0 is a run that broke down. */
export const foundCode = 3;
