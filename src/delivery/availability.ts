/**
 * Whether content is there: one notion for every answer of the gateway and the router, for content and for names, and
 * for what an answer of another gateway means. Only a proven absence may be kept by caches; whatever else is said may
 * be another thing in a moment.
 */
export type Availability =
  /** Its bytes can be had. */
  | 'here'
  /** It is known, and its bytes are not: they come with its block, or with whoever posted it. */
  | 'pending'
  /** It is known or may be, and somebody who could have it failed. */
  | 'unreadable'
  /** Somebody who may have it was not asked: the request has come too far, or through there. */
  | 'not-asked'
  /** Everybody who could have it was asked and said no. */
  | 'absent';

export type Unavailability = Exclude<Availability, 'here'>;

interface UnavailableAnswer {
  readonly status: 404 | 502;
  readonly cacheControl: string;
}

/** What may not be kept is 404 too where nobody failed: to its readers it is not here, and no gateway is to blame. */
const answers: Readonly<Record<Unavailability, UnavailableAnswer>> = {
  absent: { status: 404, cacheControl: 'public, max-age=60, must-revalidate' },
  pending: { status: 404, cacheControl: 'no-store' },
  'not-asked': { status: 404, cacheControl: 'no-store' },
  unreadable: { status: 502, cacheControl: 'no-store' },
};

export function answerTo(state: Unavailability): UnavailableAnswer {
  return answers[state];
}

/** What another gateway's answer says; a 404 that it does not want kept is not its word that there is nothing. */
export function availabilityOf(
  status: number,
  cacheControl: string | readonly string[] | undefined,
): Availability {
  if (status === 404 || status === 410) {
    return /\bno-store\b/i.test(String(cacheControl)) ? 'not-asked' : 'absent';
  }
  return status < 400 || status === 416 ? 'here' : 'unreadable';
}

const byWeight: readonly Availability[] = ['here', 'unreadable', 'pending', 'not-asked', 'absent'];

/** What several say together: one that has it decides, and absence needs them all. Of nobody: not asked. */
export function together<S extends Availability>(states: Iterable<S>): S | 'not-asked' {
  const said = new Set<Availability>(states);
  return byWeight.find((state): state is S => said.has(state)) ?? 'not-asked';
}
