/** Which name programs the configuration means. */
import type { Config } from '../config/config.ts';
import { isSolanaAddress, type SolanaAddress } from '../formats/solana/address.ts';
import { type NamePrograms, namePrograms } from '../formats/solana/programs.ts';
import { StartupError } from '../kernel/errors.ts';

type ProgramConfig = Pick<
  Config,
  'ARNS_PROGRAM_CLUSTER' | 'ARNS_PROGRAM_ID' | 'ANT_PROGRAM_ID' | 'ARNS_TOKEN_MINT' | 'ANT_PROGRAMS_TRUSTED'
>;

export function configuredPrograms(config: ProgramConfig): NamePrograms {
  return { ...clusterPrograms(config), otherAnts: config.ANT_PROGRAMS_TRUSTED.map(trusted) };
}

function trusted(text: string): SolanaAddress {
  if (!isSolanaAddress(text)) throw new StartupError('ANT_PROGRAMS_TRUSTED must be Solana addresses');
  return text;
}

function clusterPrograms(config: ProgramConfig): NamePrograms {
  const cluster = config.ARNS_PROGRAM_CLUSTER;
  // The local ledger has the programs where mainnet has them, so that published clients find them.
  if (cluster === 'local') return namePrograms.mainnet;
  if (cluster !== 'custom') return namePrograms[cluster];
  return {
    arns: needed(config, 'ARNS_PROGRAM_ID'),
    ant: needed(config, 'ANT_PROGRAM_ID'),
    mint: needed(config, 'ARNS_TOKEN_MINT'),
  };
}

function needed(
  config: ProgramConfig,
  name: 'ARNS_PROGRAM_ID' | 'ANT_PROGRAM_ID' | 'ARNS_TOKEN_MINT',
): SolanaAddress {
  const value = config[name];
  if (value === undefined || !isSolanaAddress(value)) {
    throw new StartupError(`${name} must be a Solana address when ARNS_PROGRAM_CLUSTER is custom`);
  }
  return value;
}
