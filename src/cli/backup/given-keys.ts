/**
 * Keys that the operator gave by settings and that nobody can make again: a wallet that holds money, a key that signed what
 * others keep. They are sealed with those that the installation made, because whoever has only the backup needs both.
 */
import type { Config } from '../../config/config.ts';
import { readValueFile } from '../../config/value-files.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';

const ofFiles = ['SERVICE_WALLET_FILE', 'RECEIPT_KEY_FILE', 'DATA_KEY_FILE', 'OBSERVER_KEY_FILE'] as const;
const ofValues = ['SOLANA_SIGNER_SECRET_KEY', 'JWT_SECRET', 'ADMIN_API_KEY'] as const;

export type GivenKeysConfig = Pick<Config, (typeof ofFiles)[number] | (typeof ofValues)[number]>;

/** By the variable that names or holds it. */
export function readGivenKeys(config: GivenKeysConfig): Map<string, Buffer> {
  const keys = new Map<string, Buffer>();
  for (const variable of ofFiles) {
    const path = config[variable];
    if (path !== undefined) keys.set(variable, Buffer.from(`${readFileOf(variable, path)}\n`));
  }
  for (const variable of ofValues) {
    const value = config[variable];
    if (value !== undefined) keys.set(variable, Buffer.from(value));
  }
  return keys;
}

function readFileOf(variable: string, path: string): string {
  try {
    // Whether it is open to others, the start says.
    return readValueFile(path, true);
  } catch (error) {
    throw new StartupError(`${variable} ${path} ${messageOf(error)}: the backup would lack it`);
  }
}
