/** The observer key: the Ed25519 key with which the gateway signs what it publishes, and its answers where that is on. */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { messageOf, StartupError } from '../kernel/errors.ts';
import { makeEd25519Key, readOrCreateKey } from '../kernel/keys.ts';

export type ObserverKeyConfig = Pick<Config, 'DATA_DIR' | 'OBSERVER_KEY_FILE'>;

/** The given one, else of `DATA_DIR/keys`; made when there is none. */
export async function readObserverKey(config: ObserverKeyConfig): Promise<KeyObject> {
  const { DATA_DIR: dataDir, OBSERVER_KEY_FILE: path } = config;
  if (path === undefined) {
    const { text } = await readOrCreateKey(join(dataDir, 'keys'), 'observer.pem', makeEd25519Key);
    return createPrivateKey(text);
  }
  try {
    const key = createPrivateKey(await readFile(path, 'utf8'));
    if (key.asymmetricKeyType !== 'ed25519') throw new Error('it must be an Ed25519 key');
    return key;
  } catch (error) {
    throw new StartupError(`OBSERVER_KEY_FILE ${path}: ${messageOf(error)}`);
  }
}
