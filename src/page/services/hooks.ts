/** Webhooks, as the services answer about them. Times are Unix milliseconds. */
export interface Hook {
  readonly id: string;
  readonly url: string;
  readonly description: string;
  readonly query: unknown;
  readonly state: 'active' | 'failing' | 'paused' | 'ended';
  readonly delivered: number;
  readonly failures: number;
  readonly deadLetters: number;
  readonly lastTakenAt: number | null;
  readonly lastError: string | null;
  readonly nextTryAt: number | null;
  readonly oldSecretUntil: number | null;
}

/** What `POST hooks` and `rotate` answer: the one time that the secret is told. */
export interface HookWithSecret extends Hook {
  readonly secret: string;
}

export interface DeadLetter {
  readonly id: string;
  readonly events: number;
  readonly error: string;
  readonly madeAt: number;
  readonly deadAt: number;
}

export interface Resent {
  readonly taken: boolean;
  readonly error: string | null;
}

/** Asks for hooks of one owner; a path is what stands behind `hooks`. */
export type AskHooks = <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<T>;
