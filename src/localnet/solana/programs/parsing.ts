/** Instruction data that cannot be read fails the instruction, not the ledger. */
import { FormatError } from '../../../formats/format-error.ts';
import { fail, type InstructionErrorName } from '../runtime/errors.ts';

export function parsed<T>(read: () => T, error: InstructionErrorName = 'InvalidInstructionData'): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof FormatError) fail(error);
    throw cause;
  }
}
