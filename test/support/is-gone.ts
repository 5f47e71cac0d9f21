/** Whether nobody answers there any more. */
export const isGone = (url: string): Promise<boolean> =>
  fetch(`${url}/info`).then(
    () => false,
    () => true,
  );
