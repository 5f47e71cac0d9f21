/** The operator's session: the console's server keeps the keys, the browser a cookie that no script can read. */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { OperatorService, SessionInfo, SessionRequest } from '../../../console/api.ts';
import { askConsole } from '../console.ts';

const known = signal<SessionInfo | undefined>(undefined);
const ended = signal(false);

/** Undefined until the server was asked. */
export const session: ReadonlySignal<SessionInfo | undefined> = known;
/** Whether there was a session that is over, and not by the person's wish. */
export const hasEnded: ReadonlySignal<boolean> = ended;

export async function readSession(): Promise<SessionInfo> {
  const read = await askConsole<SessionInfo>('GET', '/api/session');
  if (known.value?.until != null && read.until === null) ended.value = true;
  known.value = read;
  return read;
}

/** Throws `ServiceError` where no service takes the key. */
export async function openSession(request: SessionRequest): Promise<SessionInfo> {
  known.value = await askConsole<SessionInfo>('POST', '/api/session', request);
  ended.value = false;
  return known.value;
}

export async function closeSession(): Promise<void> {
  await askConsole('DELETE', '/api/session');
  ended.value = false;
  known.value = undefined;
  await readSession();
}

/** A service or the server refused the key: what is true now is asked for. */
export function sessionEnded(): void {
  readSession().catch(() => undefined);
}

export const opens = (service: OperatorService): boolean => known.value?.operator[service] === true;
