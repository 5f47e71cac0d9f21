/** When the local node makes blocks: as configured, until somebody says otherwise, which is kept in a file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Config } from '../../config/config.ts';
import { miningModes } from '../../config/variables/arweave.ts';
import { tryParseJson } from '../../formats/json.ts';
import { hasCode } from '../../kernel/errors.ts';
import type { Mining } from './chain/local-node.ts';

/** An hour between two blocks is as good as none. */
const maxIntervalMs = 3_600_000;

export const MiningSettings = Type.Object(
  {
    mode: Type.Union(
      miningModes.map((mode) => Type.Literal(mode)),
      { description: 'interval, demand, transaction or none' },
    ),
    intervalMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxIntervalMs,
        description: 'Between blocks that come by themselves',
      }),
    ),
  },
  { additionalProperties: false },
);

const settings = Compile(MiningSettings);

export function configuredMining(
  config: Pick<Config, 'LOCAL_ARWEAVE_MINING' | 'LOCAL_ARWEAVE_BLOCK_INTERVAL_MS'>,
): Mining {
  const { LOCAL_ARWEAVE_MINING: mode, LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: intervalMs } = config;
  return { mode: intervalMs === 0 && mode !== 'transaction' ? 'none' : mode, intervalMs };
}

/** Undefined where nobody has said anything, or what is in the file is no such thing. */
export function readMining(path: string): Mining | undefined {
  try {
    const kept = tryParseJson(readFileSync(path, 'utf8'));
    return settings.Check(kept) && kept.intervalMs !== undefined
      ? { mode: kept.mode, intervalMs: kept.intervalMs }
      : undefined;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export function writeMining(path: string, mining: Mining): void {
  writeFileSync(path, JSON.stringify(mining), { mode: 0o600 });
}
