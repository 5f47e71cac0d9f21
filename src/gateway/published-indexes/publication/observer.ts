/** Who signs publications: the holder of the observer key. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { encodeBase58 } from '../../../formats/base58.ts';
import { type ObserverKeyConfig, readObserverKey } from '../../observer-key.ts';

export interface Observer {
  /** base58 of the 32 bytes of the public key. */
  readonly address: string;
  sign(bytes: Uint8Array): Buffer;
}

export async function readObserver(config: ObserverKeyConfig): Promise<Observer> {
  return observerOf(await readObserverKey(config));
}

export function observerOf(key: KeyObject): Observer {
  const { x } = createPublicKey(key).export({ format: 'jwk' });
  if (key.asymmetricKeyType !== 'ed25519' || x === undefined)
    throw new Error('the observer key must be an Ed25519 key');
  return {
    address: encodeBase58(Buffer.from(x, 'base64url')),
    sign: (bytes) => sign(null, bytes, key),
  };
}
