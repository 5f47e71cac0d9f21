/** A transaction that is to be made: what it does and who signs it. */

import { randomInt } from 'node:crypto';
import { encodeBase58 } from '../../formats/base58.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { type AntBuilder, antBuilder } from '../../formats/solana/instructions-ant.ts';
import { type ArnsBuilder, arnsBuilder } from '../../formats/solana/instructions-arns.ts';
import { compileMessage, type Instruction, parseMessage } from '../../formats/solana/message.ts';
import { isAntProgram, type NamePrograms } from '../../formats/solana/programs.ts';
import { computeBudget } from '../../formats/solana/system.ts';
import {
  emptySignature,
  maxTransactionBytes,
  serializeTransaction,
  signersOf,
} from '../../formats/solana/transaction.ts';
import { kept } from '../../kernel/background/kept.ts';
import type { NameChain } from '../../registry/chain.ts';
import type { NameRegistry } from '../../registry/name-registry.ts';
import { unknownTokenProgram } from '../errors.ts';
import { unitLimit } from '../prices/lamports.ts';
import type { SolanaKey } from './service-key.ts';

export interface Plan {
  readonly instructions: readonly Instruction[];
  /** Keys beside the service's that sign at once: that of a new asset. */
  readonly keys?: readonly SolanaKey[];
  /** Whose signature is still missing when the service has done its part. */
  readonly owner?: SolanaAddress;
}

/** Signed by the service; the owner's signature may be missing. */
export interface SignedTransaction {
  readonly wire: Buffer;
  /** The service's signature, by which the chain knows the transaction. */
  readonly signature: string;
  readonly lastValidBlockHeight: number;
}

/**
 * Two transactions that say the same within one block are one to the chain, and only one of them has an effect. So
 * each asks for a number of units of its own, within this of the most.
 */
const unitSpread = 65_536;

/** A blockhash that only stands for one: sizes do not depend on it. */
const anyBlockhash = '11111111111111111111111111111111';

export class Planner {
  readonly #service: SolanaKey;
  readonly #microLamports: bigint;

  constructor(service: SolanaKey, microLamports: number) {
    this.#service = service;
    this.#microLamports = BigInt(microLamports);
  }

  /** Bytes of the whole signed transaction; at most 1232 fit one packet (interface §8). */
  measure(plan: Plan): number {
    const message = this.#compile(plan, anyBlockhash, unitLimit);
    const count = parseMessage(message).requiredSignatures;
    return 1 + count * 64 + message.length;
  }

  fits(plan: Plan): boolean {
    return this.measure(plan) <= maxTransactionBytes;
  }

  /** Signs for the service and the plan's own keys; a slot stays empty for the owner. */
  sign(plan: Plan, blockhash: string, lastValidBlockHeight: number): SignedTransaction {
    const message = this.#compile(plan, blockhash, unitLimit - randomInt(unitSpread));
    const keys = [this.#service, ...(plan.keys ?? [])];
    const signatures = signersOf(parseMessage(message)).map((address) => {
      const key = keys.find((candidate) => candidate.address === address);
      if (key !== undefined) return key.sign(message);
      if (address !== plan.owner) throw new Error(`nobody signs for ${address}`);
      return emptySignature;
    });
    return {
      wire: serializeTransaction(signatures, message),
      signature: encodeBase58(signatures[0]!),
      lastValidBlockHeight,
    };
  }

  #compile(plan: Plan, blockhash: string, units: number): Buffer {
    return compileMessage({
      feePayer: this.#service.address,
      blockhash,
      instructions: [...computeBudget(units, this.#microLamports), ...plan.instructions],
    });
  }
}

/** The blockhash is asked for last, so that the signer has all of its life. */
export async function signNow(
  { chain, planner }: { readonly chain: NameChain; readonly planner: Planner },
  plan: Plan,
): Promise<SignedTransaction> {
  const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
  return planner.sign(plan, blockhash, lastValidBlockHeight);
}

/** What instructions are built with: the programs, and the service that pays. */
export interface Builders {
  readonly programs: NamePrograms;
  readonly arns: ArnsBuilder;
  readonly ant: AntBuilder;
  readonly service: SolanaAddress;
}

/** For a token of its own program. The service's key signs what that program runs: it calls those it knows alone. */
export function buildersFor(build: Builders, program: SolanaAddress): Builders {
  if (program === build.programs.ant) return build;
  if (!isAntProgram(build.programs, program)) throw unknownTokenProgram(program);
  const programs = { ...build.programs, ant: program };
  return { ...build, programs, ant: antBuilder(programs) };
}

/** Reads the registry's config once: asked until the chain answers, then kept. */
export function createBuilders(registry: NameRegistry, service: SolanaAddress): () => Promise<Builders> {
  const { programs } = registry;
  return kept(async () => {
    const { treasury } = await registry.config();
    return { programs, arns: arnsBuilder(programs, treasury), ant: antBuilder(programs), service };
  });
}
