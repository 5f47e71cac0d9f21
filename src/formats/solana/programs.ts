/** The programs a name transaction names. */
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

/** The name programs of one cluster, and the token names are paid in. */
export interface NamePrograms {
  readonly arns: SolanaAddress;
  readonly ant: SolanaAddress;
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

/** Lamports below which an account of this size is not kept (B of rent: 128 bytes of overhead, two years). */
export function rentExemptMinimum(size: number): bigint {
  return BigInt(128 + size) * 6960n;
}

/** Paid per signature of a transaction. */
export const lamportsPerSignature = 5000n;
export const lamportsPerSol = 1_000_000_000n;
