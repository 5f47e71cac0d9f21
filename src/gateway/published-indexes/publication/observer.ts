/** The observer key: the Ed25519 key with which the gateway signs what it publishes. */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { join } from 'node:path';
import { encodeBase58 } from '../../../formats/base58.ts';
import { makeEd25519Key, readOrCreateKey } from '../../../kernel/keys.ts';

export interface Observer {
  /** base58 of the 32 bytes of the public key. */
  readonly address: string;
  sign(bytes: Uint8Array): Buffer;
}

/** From `DATA_DIR/keys`; made when there is none. */
export async function readObserver(dataDir: string): Promise<Observer> {
  const { text } = await readOrCreateKey(join(dataDir, 'keys'), 'observer.pem', makeEd25519Key);
  return observerOf(createPrivateKey(text));
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
