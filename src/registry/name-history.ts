/** What was done with a name, as the chain's nodes remember it: each transaction with what it asked the programs for. */
import { LRUCache } from 'lru-cache';
import { FormatError } from '../formats/format-error.ts';
import { antAddresses } from '../formats/solana/accounts-ant.ts';
import { arnsAddresses } from '../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../formats/solana/address.ts';
import type { InstructionKind } from '../formats/solana/anchor.ts';
import { antInstructions } from '../formats/solana/instructions-ant.ts';
import { arnsInstructions } from '../formats/solana/instructions-arns.ts';
import type { NamePrograms } from '../formats/solana/programs.ts';
import { parseTransaction } from '../formats/solana/transaction.ts';
import type { NameChain, PastTransaction } from './chain.ts';

export interface NameEvent {
  readonly signature: string;
  readonly slot: number;
  /** Unix seconds; undefined where the node does not know. */
  readonly at: number | undefined;
  readonly failed: boolean;
  readonly steps: readonly NameStep[];
}

/** One instruction of the name programs: its name there, and its arguments as texts. */
export interface NameStep {
  readonly instruction: string;
  readonly values: Readonly<Record<string, string>>;
}

export interface NameHistory {
  /** Newest first; at most `maxEvents`. `token`: the name's, with the program that governs it. */
  of(name: string, token: HistoryToken | undefined): Promise<NameEvent[]>;
}

interface HistoryToken {
  readonly asset: SolanaAddress;
  readonly program: SolanaAddress;
}

const maxEvents = 30;
const maxKeptTransactions = 2_000;

export function createNameHistory(chain: NameChain, programs: NamePrograms): NameHistory {
  const arns = arnsAddresses(programs.arns);
  /** A transaction never changes. */
  const known = new LRUCache<string, readonly NameStep[]>({ max: maxKeptTransactions });

  async function stepsOf(signature: string, tokenProgram: SolanaAddress): Promise<readonly NameStep[]> {
    const kept = known.get(signature);
    if (kept !== undefined) return kept;
    const wire = await chain.transaction(signature);
    if (wire === undefined) return [];
    const steps = readSteps(wire, programs, tokenProgram);
    known.set(signature, steps);
    return steps;
  }

  return {
    async of(name, token) {
      const places = [arns.record(name).address];
      if (token !== undefined) places.push(antAddresses(token.program).config(token.asset).address);
      const lists = await Promise.all(places.map((place) => chain.transactionsOf(place, maxEvents)));
      const once = new Map<string, PastTransaction>(lists.flat().map((past) => [past.signature, past]));
      const newest = [...once.values()].sort((a, b) => b.slot - a.slot).slice(0, maxEvents);
      return Promise.all(
        newest.map(async (past) => ({
          ...past,
          steps: await stepsOf(past.signature, token?.program ?? programs.ant),
        })),
      );
    },
  };
}

const arnsKinds = Object.values(arnsInstructions) as InstructionKind<object>[];
const antKinds = Object.values(antInstructions) as InstructionKind<object>[];

/** What a transaction asked the name programs for. `tokenProgram`: that of a name's token, where it is another than ours. */
export function readSteps(
  wire: Buffer,
  programs: NamePrograms,
  tokenProgram: SolanaAddress = programs.ant,
): NameStep[] {
  const kindsOf = (program: SolanaAddress | undefined) => {
    if (program === programs.arns) return arnsKinds;
    return program === programs.ant || program === tokenProgram ? antKinds : [];
  };
  const { message } = parseTransaction(wire);
  return message.instructions.flatMap(({ programIndex, data }) => {
    const kind = kindsOf(message.keys[programIndex]).find(({ discriminator }) =>
      discriminator.equals(data.subarray(0, 8)),
    );
    return kind === undefined ? [] : [{ instruction: kind.name, values: valuesOf(kind, data.subarray(8)) }];
  });
}

function valuesOf(kind: InstructionKind<object>, data: Uint8Array): Record<string, string> {
  try {
    return Object.fromEntries(
      Object.entries(kind.decode(data))
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => [key, Array.isArray(value) ? value.join(', ') : String(value)]),
    );
  } catch (error) {
    // Newer programs may have added arguments; the name of the instruction is known all the same.
    if (error instanceof FormatError) return {};
    throw error;
  }
}
