/** Which world a data folder belongs to: its credits are worth what they were bought with. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type WorldName } from '../../config/config.ts';

const fileOf = (dataDir: string): string => join(dataDir, 'world');

/** undefined for a new folder. One that an earlier release made says nothing itself; with a local chain in it, it is local. */
export function folderWorld(dataDir: string): WorldName | undefined {
  const path = fileOf(dataDir);
  if (!existsSync(path)) return existsSync(join(dataDir, 'localnet')) ? 'local' : undefined;
  const text = readFileSync(path, 'utf8').trim();
  if (text === 'local' || text === 'testnet' || text === 'public') return text;
  throw new ConfigError([`DATA_DIR: ${path} must say local, testnet or public`]);
}

/** From now on the folder belongs to this world. */
export function markFolder(dataDir: string, world: WorldName): void {
  if (!existsSync(fileOf(dataDir))) writeFileSync(fileOf(dataDir), `${world}\n`, { mode: 0o600 });
}
