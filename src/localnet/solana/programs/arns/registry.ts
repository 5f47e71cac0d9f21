/** The registry's list of name hashes: appended to on purchase, swap-removed when a name goes. */
import { nameRegistry } from '../../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import { arnsError } from '../../../../formats/solana/program-errors.ts';
import type { Invocation } from '../../runtime/invocation.ts';
import { failProgram } from '../anchor.ts';

const { headSize, slotSize } = nameRegistry;

export function addToRegistry(call: Invocation, registry: SolanaAddress, nameHash: Uint8Array): void {
  const data = Buffer.from(call.account(registry).data);
  const { authority, count } = nameRegistry.head(data);
  const offset = headSize + count * slotSize;
  if (offset + slotSize > data.length) failProgram(call, arnsError('RegistryFull'));
  nameRegistry.encodeSlot(nameHash, count).copy(data, offset);
  nameRegistry.encodeHead({ authority, count: count + 1 }).copy(data);
  call.writeData(registry, data);
}

export function removeFromRegistry(call: Invocation, registry: SolanaAddress, nameHash: Uint8Array): void {
  const data = Buffer.from(call.account(registry).data);
  const { authority, count } = nameRegistry.head(data);
  for (let index = 0; index < count; index += 1) {
    const offset = headSize + index * slotSize;
    if (!data.subarray(offset, offset + 32).equals(nameHash)) continue;
    const last = headSize + (count - 1) * slotSize;
    if (offset !== last) nameRegistry.encodeSlot(data.subarray(last, last + 32), index).copy(data, offset);
    data.fill(0, last, last + slotSize);
    nameRegistry.encodeHead({ authority, count: count - 1 }).copy(data);
    call.writeData(registry, data);
    return;
  }
}
