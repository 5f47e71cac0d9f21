/**
 * `x-turnpike-fork`. In an answer: it was read from another network, whose address stands there. In a request, with
 * the value `no`: answer with what is your own. Whoever forks asks so, and networks that fork each other do not ask in
 * circles; and so do the services, for which only their own chain counts.
 */
export const forkHeader = 'x-turnpike-fork';

export const ownAnswerOnly: Readonly<Record<string, string>> = { [forkHeader]: 'no' };

/** Whether a request is to be answered without the fork. */
export function wantsOwnOnly(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return headers[forkHeader] === 'no';
}
