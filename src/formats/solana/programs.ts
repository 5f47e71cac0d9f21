/** The programs that transactions name, and the accounts every cluster has at the same address. */
import { parseSolanaAddress as at, type SolanaAddress } from './address.ts';

export const systemProgram = at('11111111111111111111111111111111');
export const tokenProgram = at('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const associatedTokenProgram = at('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
export const computeBudgetProgram = at('ComputeBudget111111111111111111111111111111');
export const memoProgram = at('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
/** The first memo program, which older wallets still call. */
export const memoProgramV1 = at('Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo');
export const coreProgram = at('CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d');
export const nativeLoader = at('NativeLoader1111111111111111111111111111111');
export const bpfLoader = at('BPFLoader2111111111111111111111111111111111');
export const incinerator = at('1nc1nerator11111111111111111111111111111111');
export const lookupTableProgram = at('AddressLookupTab1e1111111111111111111111111');
/** The mint of wrapped SOL. */
export const nativeMint = at('So11111111111111111111111111111111111111112');

/** Accounts that say how the cluster stands; no transaction writes them. */
export const sysvarOwner = at('Sysvar1111111111111111111111111111111111111');
export const sysvars = {
  clock: at('SysvarC1ock11111111111111111111111111111111'),
  epochRewards: at('SysvarEpochRewards1111111111111111111111111'),
  epochSchedule: at('SysvarEpochSchedu1e111111111111111111111111'),
  instructions: at('Sysvar1nstructions1111111111111111111111111'),
  lastRestartSlot: at('SysvarLastRestartS1ot1111111111111111111111'),
  recentBlockhashes: at('SysvarRecentB1ockHashes11111111111111111111'),
  rent: at('SysvarRent111111111111111111111111111111111'),
  slotHashes: at('SysvarS1otHashes111111111111111111111111111'),
  slotHistory: at('SysvarS1otHistory11111111111111111111111111'),
  stakeHistory: at('SysvarStakeHistory1111111111111111111111111'),
} as const;

const reserved: ReadonlySet<SolanaAddress> = new Set([
  ...Object.values(sysvars),
  systemProgram,
  computeBudgetProgram,
  lookupTableProgram,
  nativeLoader,
  bpfLoader,
  sysvarOwner,
]);

/** True for addresses that a transaction reads only, whatever it asks for. */
export const isReserved = (address: SolanaAddress): boolean => reserved.has(address);

/** The name programs of one cluster, and the token names are paid in. */
export interface NamePrograms {
  readonly arns: SolanaAddress;
  /** Governs the tokens that are made here, and those that name no other program. */
  readonly ant: SolanaAddress;
  /** Further token programs that may be called, with the same instructions. */
  readonly otherAnts?: readonly SolanaAddress[];
  readonly mint: SolanaAddress;
}

export const namePrograms = {
  mainnet: {
    arns: at('2yCUx5edFvUrkibYaUa2ZXWyx9kuJkS8CwyzsgHPWdZZ'),
    ant: at('2MWexMHfMhGJwMHv9Qm9YAVCqjUFUJwDJAysW4oCUGk5'),
    mint: at('DcNnMuFxwhgV4WY1HVSaSEgr92bv2b1vUvEKiNxWqHdF'),
  },
  devnet: {
    arns: at('6EZNezcg4rc5hnh8HG34vGquT3WpW5xXypzPb24uyEpp'),
    ant: at('DbHbRwUD1oAn1mrDSqtWtvwGcNrmhWdD2g8L4xmeQ7NX'),
    mint: at('6vTw5CysRXQ4ybbHkDUiisHWVsBeMtUzYvJqs2iqHyaN'),
  },
} as const satisfies Record<string, NamePrograms>;

export const isAntProgram = ({ ant, otherAnts }: NamePrograms, program: SolanaAddress): boolean =>
  program === ant || (otherAnts?.includes(program) ?? false);

/** Lamports below which an account of this size is not kept (B of rent: 128 bytes of overhead, two years). */
export function rentExemptMinimum(size: number): bigint {
  return BigInt(128 + size) * 6960n;
}

/** Paid per signature of a transaction. */
export const lamportsPerSignature = 5000n;
export const lamportsPerSol = 1_000_000_000n;
