/** Accounts spelled out as nodes do for `jsonParsed`: tokens, nonces, lookup tables, sysvars. */
import { encodeBase58 } from '../../../formats/base58.ts';
import { FormatError } from '../../../formats/format-error.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { Reader } from '../../../formats/solana/bytes.ts';
import { decodeLookupTable } from '../../../formats/solana/lookup-table.ts';
import { decodeNonce, nonceAccountSize, nonceText } from '../../../formats/solana/nonce.ts';
import {
  lookupTableProgram,
  systemProgram,
  sysvarOwner,
  sysvars,
  tokenProgram,
} from '../../../formats/solana/programs.ts';
import {
  decodeMint,
  decodeMultisig,
  decodeTokenAccount,
  mintSize,
  multisigSize,
  tokenAccountSize,
} from '../../../formats/solana/token.ts';
import type { Account, AccountReader } from '../accounts.ts';
import { decimalsOf } from '../meta.ts';
import { tokenAmount } from './token-amount.ts';

interface Spelled {
  readonly program: string;
  readonly type: string;
  readonly info: unknown;
}

/** Undefined for accounts that nobody can spell out. */
export function spellAccount(
  address: SolanaAddress,
  account: Account,
  accounts: AccountReader,
): object | undefined {
  const spelled = spell(address, account, accounts);
  if (spelled === undefined) return undefined;
  const { program, info, type } = spelled;
  return { program, parsed: { info, type }, space: account.data.length };
}

function spell(address: SolanaAddress, account: Account, accounts: AccountReader): Spelled | undefined {
  try {
    if (account.owner === tokenProgram) return spellToken(account.data, accounts);
    if (account.owner === systemProgram) return spellNonce(account.data);
    if (account.owner === lookupTableProgram) return spellTable(account.data);
    if (account.owner === sysvarOwner) return spellSysvar(address, new Reader(account.data));
    return undefined;
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

function spellToken(data: Buffer, accounts: AccountReader): Spelled | undefined {
  const program = 'spl-token';
  if (data.length === mintSize) {
    const mint = decodeMint(data);
    const info = {
      mintAuthority: mint.authority ?? null,
      supply: mint.supply.toString(),
      decimals: mint.decimals,
      isInitialized: mint.initialized,
      freezeAuthority: mint.freezeAuthority ?? null,
    };
    return { program, info, type: 'mint' };
  }
  if (data.length === multisigSize) {
    const multisig = decodeMultisig(data);
    const info = {
      isInitialized: multisig.initialized,
      numRequiredSigners: multisig.required,
      numValidSigners: multisig.count,
      signers: multisig.signers.slice(0, multisig.count),
    };
    return { program, info, type: 'multisig' };
  }
  if (data.length !== tokenAccountSize) return undefined;
  const token = decodeTokenAccount(data);
  const decimals = decimalsOf(accounts, token.mint);
  const info = {
    isNative: token.nativeReserve !== undefined,
    mint: token.mint,
    owner: token.owner,
    state: token.state,
    tokenAmount: tokenAmount(token.amount, decimals),
    ...(token.delegate !== undefined && {
      delegate: token.delegate,
      delegatedAmount: tokenAmount(token.delegatedAmount, decimals),
    }),
    ...(token.nativeReserve !== undefined && {
      rentExemptReserve: tokenAmount(token.nativeReserve, decimals),
    }),
    ...(token.closeAuthority !== undefined && { closeAuthority: token.closeAuthority }),
  };
  return { program, info, type: 'account' };
}

function spellNonce(data: Buffer): Spelled | undefined {
  if (data.length !== nonceAccountSize) return undefined;
  const nonce = decodeNonce(data);
  if (nonce === undefined) return undefined;
  const feeCalculator = { lamportsPerSignature: nonce.lamportsPerSignature.toString() };
  const info = { authority: nonce.authority, blockhash: nonceText(nonce), feeCalculator };
  return { program: 'nonce', info, type: 'initialized' };
}

function spellTable(data: Buffer): Spelled | undefined {
  const table = decodeLookupTable(data);
  if (table === undefined) return undefined;
  const info = {
    deactivationSlot: table.deactivationSlot.toString(),
    lastExtendedSlot: table.lastExtendedSlot.toString(),
    lastExtendedSlotStartIndex: table.lastExtendedStart,
    ...(table.authority !== undefined && { authority: table.authority }),
    addresses: table.addresses,
  };
  return { program: 'address-lookup-table', info, type: 'lookupTable' };
}

function spellSysvar(address: SolanaAddress, reader: Reader): Spelled | undefined {
  const program = 'sysvar';
  switch (address) {
    case sysvars.clock: {
      const [slot, epochStartTimestamp, epoch] = [reader.u64(), reader.i64(), reader.u64()];
      const [leaderScheduleEpoch, unixTimestamp] = [reader.u64(), reader.i64()];
      const info = { slot, epoch, epochStartTimestamp, leaderScheduleEpoch, unixTimestamp };
      return { program, info, type: 'clock' };
    }
    case sysvars.rent: {
      const lamportsPerByteYear = reader.u64().toString();
      const exemptionThreshold = reader.take(8).readDoubleLE();
      const info = { lamportsPerByteYear, exemptionThreshold, burnPercent: reader.u8() };
      return { program, info, type: 'rent' };
    }
    case sysvars.epochSchedule: {
      const [slotsPerEpoch, leaderScheduleSlotOffset] = [reader.u64(), reader.u64()];
      const warmup = reader.u8() === 1;
      const [firstNormalEpoch, firstNormalSlot] = [reader.u64(), reader.u64()];
      const info = { slotsPerEpoch, leaderScheduleSlotOffset, warmup, firstNormalEpoch, firstNormalSlot };
      return { program, info, type: 'epochSchedule' };
    }
    case sysvars.recentBlockhashes: {
      const info = Array.from({ length: Number(reader.u64()) }, () => ({
        blockhash: encodeBase58(reader.take(32)),
        feeCalculator: { lamportsPerSignature: reader.u64().toString() },
      }));
      return { program, info, type: 'recentBlockhashes' };
    }
    case sysvars.slotHashes: {
      const info = Array.from({ length: Number(reader.u64()) }, () => ({
        slot: reader.u64(),
        hash: encodeBase58(reader.take(32)),
      }));
      return { program, info, type: 'slotHashes' };
    }
    default:
      return undefined;
  }
}
