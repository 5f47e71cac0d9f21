/** The accounts that say how the ledger stands: made from the clock whenever somebody reads one. */
import { decodeBase58 } from '../../formats/base58.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { Writer } from '../../formats/solana/bytes.ts';
import {
  lamportsPerSignature,
  rentExemptMinimum,
  sysvarOwner,
  sysvars,
} from '../../formats/solana/programs.ts';
import type { Account, ComputedAccounts } from './accounts.ts';
import { blockhashLife, type Slots, slotsInEpoch } from './slots.ts';

const rememberedHashes = 512;
const historyWords = 16_384;
const epochRewardsSize = 81;
const stakeHistorySize = 16_392;

export function sysvarAccounts(slots: Slots): ComputedAccounts {
  const slot = () => slots.now().slot;
  const contents: readonly (readonly [SolanaAddress, () => Buffer])[] = [
    [sysvars.clock, () => clock(slots)],
    [sysvars.rent, rent],
    [sysvars.epochSchedule, epochSchedule],
    [sysvars.recentBlockhashes, () => recentBlockhashes(slots, slot())],
    [sysvars.slotHashes, () => slotHashes(slots, slot())],
    [sysvars.slotHistory, () => slotHistory(slot())],
    [sysvars.lastRestartSlot, () => Buffer.alloc(8)],
    [sysvars.epochRewards, () => Buffer.alloc(epochRewardsSize)],
    [sysvars.stakeHistory, () => Buffer.alloc(stakeHistorySize)],
  ];
  return new Map(contents.map(([address, data]) => [address, () => accountOf(data())]));
}

const accountOf = (data: Buffer): Account => ({
  lamports: rentExemptMinimum(data.length),
  owner: sysvarOwner,
  data,
  executable: false,
});

function clock(slots: Slots): Buffer {
  const { slot, ms } = slots.now();
  const epoch = Math.floor(slot / slotsInEpoch);
  return new Writer()
    .u64(BigInt(slot))
    .i64(BigInt(slots.timeOf(epoch * slotsInEpoch)))
    .u64(BigInt(epoch))
    .u64(BigInt(epoch + 1))
    .i64(BigInt(Math.floor(ms / 1000)))
    .finish();
}

/** Lamports per byte and year, years until exempt, share that is burned. */
function rent(): Buffer {
  const years = Buffer.alloc(8);
  years.writeDoubleLE(2);
  return new Writer().u64(3480n).bytes(years).u8(50).finish();
}

function epochSchedule(): Buffer {
  const length = BigInt(slotsInEpoch);
  return new Writer().u64(length).u64(length).u8(0).u64(0n).u64(0n).finish();
}

function recentBlockhashes(slots: Slots, slot: number): Buffer {
  const count = Math.min(blockhashLife, slot + 1);
  const writer = new Writer().u64(BigInt(count));
  for (let at = slot; at > slot - count; at -= 1) {
    writer.bytes(decodeBase58(slots.blockhash(at), 'blockhash')).u64(lamportsPerSignature);
  }
  return padded(writer.finish(), 8 + blockhashLife * 40);
}

function slotHashes(slots: Slots, slot: number): Buffer {
  const count = Math.min(rememberedHashes, slot);
  const writer = new Writer().u64(BigInt(count));
  for (let at = slot - 1; at >= slot - count; at -= 1) {
    writer.u64(BigInt(at)).bytes(decodeBase58(slots.blockhash(at), 'blockhash'));
  }
  return padded(writer.finish(), 8 + rememberedHashes * 40);
}

/** One bit for each slot that has a block: all of them. */
function slotHistory(slot: number): Buffer {
  return new Writer()
    .u8(1)
    .u64(BigInt(historyWords))
    .bytes(Buffer.alloc(historyWords * 8, 0xff))
    .u64(BigInt(historyWords * 64))
    .u64(BigInt(slot + 1))
    .finish();
}

function padded(data: Buffer, size: number): Buffer {
  return Buffer.concat([data, Buffer.alloc(size - data.length)]);
}
