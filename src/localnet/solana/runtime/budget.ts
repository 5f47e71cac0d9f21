/** The compute budget of a transaction and the fee that follows from it. */
import { Reader } from '../../../formats/solana/bytes.ts';
import type { Message } from '../../../formats/solana/message.ts';
import { computeBudgetProgram, lamportsPerSignature } from '../../../formats/solana/programs.ts';
import { computeBudgetInstruction } from '../../../formats/solana/system.ts';
import type { TransactionError } from './errors.ts';

export interface Budget {
  readonly unitLimit: number;
  readonly fee: bigint;
}

const defaultUnitsPerInstruction = 200_000;
export const maxUnits = 1_400_000;

/** Each setting may be made once; a setting that cannot be read fails the transaction. */
export function readBudget(message: Message): Budget | { readonly error: TransactionError } {
  const seen = new Set<number>();
  let unitLimit: number | undefined;
  let microLamports = 0n;
  let others = 0;
  for (const [index, instruction] of message.instructions.entries()) {
    if (message.keys[instruction.programIndex] !== computeBudgetProgram) {
      others += 1;
      continue;
    }
    const setting = readSetting(instruction.data);
    if (setting === undefined) return { error: { InstructionError: [index, 'InvalidInstructionData'] } };
    if (seen.has(setting.kind)) return { error: { DuplicateInstruction: index } };
    seen.add(setting.kind);
    if (setting.kind === computeBudgetInstruction.unitLimit) unitLimit = Number(setting.value);
    if (setting.kind === computeBudgetInstruction.unitPrice) microLamports = setting.value;
  }
  const limit = Math.min(maxUnits, unitLimit ?? others * defaultUnitsPerInstruction);
  const priority = (BigInt(limit) * microLamports + 999_999n) / 1_000_000n;
  return { unitLimit: limit, fee: BigInt(message.requiredSignatures) * lamportsPerSignature + priority };
}

function readSetting(data: Buffer): { kind: number; value: bigint } | undefined {
  const sizes: Record<number, number> = {
    [computeBudgetInstruction.requestHeapFrame]: 4,
    [computeBudgetInstruction.unitLimit]: 4,
    [computeBudgetInstruction.unitPrice]: 8,
    [computeBudgetInstruction.loadedDataLimit]: 4,
  };
  const kind = data[0];
  const size = kind === undefined ? undefined : sizes[kind];
  if (kind === undefined || size === undefined || data.length < 1 + size) return undefined;
  const reader = new Reader(data.subarray(1));
  return { kind, value: size === 8 ? reader.u64() : BigInt(reader.u32()) };
}
