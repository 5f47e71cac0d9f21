/** How messages to webhooks are signed: the scheme of standardwebhooks.com, which receivers have libraries for. */
import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';

export const newSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`;

export interface Message {
  /** The same whenever the message is sent: a receiver that has seen it need not look at it again. */
  readonly id: string;
  readonly body: string;
}

/** One signature for each secret that is valid: while secrets change, a receiver may know either. */
export function signatureHeaders(
  { id, body }: Message,
  secrets: readonly string[],
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
