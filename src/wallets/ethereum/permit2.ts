/** Permit2 with a witness: up to an amount that its holder signs, moved once, to whom and by whom the witness names. */

import type { PermitTerms, TransferAuthorization } from '../../formats/x402/payment.ts';
import { permit2Contract } from '../../formats/x402/permit2.ts';
import { holderKey } from './transfer-authorization.ts';
import { hashTypedData, type TypedDataTypes } from './typed-data.ts';

const types: TypedDataTypes = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'facilitator', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
};

export function permitDigest(
  { to, value, validAfter, validBefore, nonce }: TransferAuthorization,
  { token, spender, facilitator }: PermitTerms,
  chainId: number,
): Uint8Array {
  return hashTypedData({
    domain: { name: 'Permit2', chainId, verifyingContract: permit2Contract },
    types,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token, amount: value },
      spender,
      nonce: BigInt(nonce),
      deadline: validBefore,
      witness: { to, facilitator, validAfter },
    },
  });
}

/** Whether the holder's own key made the signature. Contract wallets are not asked here. */
export const isPermitSignedByHolder = (
  authorization: TransferAuthorization,
  permit: PermitTerms,
  signature: string,
  chainId: number,
): boolean =>
  holderKey(permitDigest(authorization, permit, chainId), signature, authorization.from) !== undefined;
