/** The local ledger and litesvm, a Solana virtual machine, side by side: the same transactions go to both. */
import assert from 'node:assert/strict';
import { address, getTransactionDecoder, lamports } from '@solana/kit';
import type { TransactionInstruction } from '@solana/web3.js';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { parseSolanaAddress, type SolanaAddress } from '../../src/formats/solana/address.ts';
import type { Instruction } from '../../src/formats/solana/message.ts';
import type { Keypair } from '../../src/localnet/solana/genesis.ts';
import { TransactionRefused } from '../../src/localnet/solana/ledger.ts';
import { signed, TestLedger } from '../../src/localnet/solana/testing.ts';

export class SideBySide {
  readonly ours: TestLedger;
  readonly theirs = new LiteSVM().withNativeMints();
  /** Whose lamports are compared after each transaction. */
  readonly watched = new Set<SolanaAddress>();

  private constructor(ours: TestLedger) {
    this.ours = ours;
  }

  static async start(...funded: readonly Keypair[]): Promise<SideBySide> {
    const both = new SideBySide(await TestLedger.start());
    for (const { address: wallet } of funded) {
      await both.ours.rpc('requestAirdrop', wallet, 10_000_000_000);
      both.theirs.airdrop(address(wallet), lamports(10_000_000_000n));
      both.watched.add(wallet);
    }
    return both;
  }

  stop(): Promise<void> {
    return this.ours.stop();
  }

  /** Both end alike: the same error or none, the same lamports. Answers the error. */
  same(what: string, instructions: readonly Instruction[], ...signers: readonly Keypair[]): Promise<unknown> {
    return this.sameWire(what, (blockhash) => signed(blockhash, instructions, ...signers));
  }

  /** The same for wire transactions that are signed for each of the two. */
  async sameWire(what: string, sign: (blockhash: string) => Buffer): Promise<unknown> {
    const here = await this.#here(sign);
    assert.deepEqual(here, this.#there(sign), what);
    return here.error;
  }

  /** The bytes of the account are the same in both; `masked` are places that hold what only one of them can know. */
  sameBytes(account: SolanaAddress, masked?: readonly [number, number]): Buffer {
    const here = Buffer.from(this.ours.local.ledger.accounts.get(account).data);
    const found = this.theirs.getAccount(address(account));
    const there = Buffer.from(found.exists ? found.data : []);
    if (masked !== undefined) for (const bytes of [here, there]) bytes.fill(0, ...masked);
    assert.deepEqual(here, there, `the bytes of ${account}`);
    return here;
  }

  async #here(sign: (blockhash: string) => Buffer) {
    const { ours } = this;
    let error: unknown = null;
    ours.skip(1);
    try {
      error = (await ours.local.ledger.submit(sign(ours.blockhash), false)).err;
    } catch (refused) {
      if (!(refused instanceof TransactionRefused)) throw refused;
      error = refused.error;
    }
    const { accounts } = ours.local.ledger;
    return {
      error: describeOurs(error),
      balances: [...this.watched].map((key) => accounts.get(key).lamports),
    };
  }

  #there(sign: (blockhash: string) => Buffer) {
    const { theirs } = this;
    theirs.expireBlockhash();
    const { slot } = this.ours.local.ledger.slots.now();
    theirs.warpToSlot(BigInt(slot));
    theirs.setSlotHashes(
      Array.from({ length: Math.min(slot, 512) }, (_, index) => ({
        slot: BigInt(slot - 1 - index),
        hash: theirs.latestBlockhash(),
      })),
    );
    const wire = sign(theirs.latestBlockhash());
    const result = theirs.sendTransaction(getTransactionDecoder().decode(wire));
    const error = result instanceof FailedTransactionMetadata ? describeTheirs(result) : null;
    return { error, balances: [...this.watched].map((key) => theirs.getBalance(address(key)) ?? 0n) };
  }
}

/** Both name instruction errors by place and code. */
function describeOurs(error: unknown): unknown {
  const text = JSON.stringify(error);
  const custom = /InstructionError":\[(\d+),\{"Custom":(\d+)\}/.exec(text);
  if (custom) return `instruction ${custom[1]} custom ${custom[2]}`;
  const named = /InstructionError":\[(\d+),"(\w+)"/.exec(text);
  if (named) return `instruction ${named[1]} ${named[2]}`;
  const rent = /InsufficientFundsForRent":\{"account_index":(\d+)/.exec(text);
  if (rent) return `rent ${rent[1]}`;
  const duplicate = /DuplicateInstruction":(\d+)/.exec(text);
  return duplicate ? `duplicate ${duplicate[1]}` : error;
}

function describeTheirs(failed: FailedTransactionMetadata): unknown {
  const text = failed.toString();
  const custom = /InstructionError\(\s*(\d+),\s*Custom\(\s*(\d+)/.exec(text);
  if (custom) return `instruction ${custom[1]} custom ${custom[2]}`;
  const named = /InstructionError\(\s*(\d+),\s*(\w+)/.exec(text);
  if (named) return `instruction ${named[1]} ${named[2]}`;
  const rent = /InsufficientFundsForRent\s*\{\s*account_index:\s*(\d+)/.exec(text);
  if (rent) return `rent ${rent[1]}`;
  const duplicate = /DuplicateInstruction\(\s*(\d+)/.exec(text);
  if (duplicate) return `duplicate ${duplicate[1]}`;
  return /err:\s*(\w+)/.exec(text)?.[1] ?? text;
}

/** An instruction as web3.js and spl-token build it. */
export function fromClassic(instruction: TransactionInstruction): Instruction {
  return {
    programId: parseSolanaAddress(instruction.programId.toBase58()),
    accounts: instruction.keys.map(({ pubkey, isSigner, isWritable }) => ({
      address: parseSolanaAddress(pubkey.toBase58()),
      signer: isSigner,
      writable: isWritable,
    })),
    data: Uint8Array.from(instruction.data),
  };
}
