/** How the router's own admin page asks its server: with a token that is kept in memory, and nowhere else. */
import { type ReadonlySignal, signal } from '@preact/signals';
import { texts } from '../texts.ts';
import { messageIn, ServiceError } from './console.ts';
import type { Ask } from './operator/ask.ts';

const kept = signal<string | undefined>(undefined);
const refused = signal<string | undefined>(undefined);

export const isSignedIn = (): boolean => kept.value !== undefined;
/** Why the last token was refused. */
export const refusal: ReadonlySignal<string | undefined> = refused;

export async function signIn(token: string): Promise<void> {
  kept.value = token;
  refused.value = undefined;
  await askWithToken('GET', 'status').catch((error: unknown) => {
    // One that is refused is forgotten already; others may be right.
    if (!isRefusal(error)) throw error;
  });
}

export function signOut(): void {
  kept.value = undefined;
  refused.value = undefined;
}

export const askWithToken: Ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
  const answer = await fetch(`/api/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${kept.value ?? ''}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new ServiceError(0, error instanceof Error ? error.message : String(error));
  });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text) as T;
  const error = new ServiceError(
    answer.status,
    messageIn(text) || texts.operator.admin.failed(answer.status),
  );
  if (isRefusal(error)) {
    kept.value = undefined;
    refused.value = error.message;
  }
  throw error;
};

const isRefusal = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && (error.status === 401 || error.status === 403);
