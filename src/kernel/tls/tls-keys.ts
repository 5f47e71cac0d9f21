/** Where the servers of this process have their certificates from: files of the operator, or the local authority. */

import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from '../../config/config.ts';
import { kept } from '../background/kept.ts';
import { messageOf, StartupError } from '../errors.ts';
import type { KeyPair, LocalAuthority, TlsKeys } from './local-authority.ts';

export type TlsConfig = Pick<Config, 'DATA_DIR' | 'LOCAL_NETWORK_HOST'> &
  Partial<Pick<Config, 'LOCAL_TLS' | 'TLS_CERTIFICATE_FILE' | 'TLS_KEY_FILE' | 'HOST'>>;

/** Undefined where only plain HTTP is spoken. Nothing is read or made before a client speaks TLS. */
export function tlsKeysOf(config: TlsConfig): TlsKeys | undefined {
  const { TLS_CERTIFICATE_FILE: certificate, TLS_KEY_FILE: key } = config;
  if (certificate !== undefined && key !== undefined) {
    return { keyPairFor: async () => readKeyPair(certificate, key) };
  }
  if (config.LOCAL_TLS !== true) return undefined;
  const authority = kept(() => openAuthority(config));
  return { keyPairFor: async (host) => (await authority()).keyPairFor(host) };
}

/** With every address that servers of this process are bound to. */
export async function openAuthority(config: TlsConfig): Promise<LocalAuthority> {
  const { openLocalAuthority } = await import('./local-authority.ts');
  const { DATA_DIR, LOCAL_NETWORK_HOST, HOST = LOCAL_NETWORK_HOST } = config;
  return await openLocalAuthority(DATA_DIR, [HOST, LOCAL_NETWORK_HOST]);
}

/** Throws `StartupError` where the files are no certificate with its key. */
export function readKeyPair(certificateFile: string, keyFile: string): KeyPair {
  try {
    const pair = { cert: readFileSync(certificateFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    throw new StartupError(
      `TLS_CERTIFICATE_FILE and TLS_KEY_FILE are no certificate with its key: ${messageOf(error)}`,
    );
  }
}
