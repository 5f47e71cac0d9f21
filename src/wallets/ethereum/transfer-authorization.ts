/** EIP-3009: a token transfer that its holder signs and anybody may carry out, once, within a span of time. */
import type { X402Network } from '../../formats/x402/networks.ts';
import type { TransferAuthorization } from '../../formats/x402/payment.ts';
import { ethereumAddress, parseEthereumAddress } from './address.ts';
import { recoverEthereumKey } from './personal-message.ts';
import { hashTypedData, type TypedDataTypes } from './typed-data.ts';

const types: TypedDataTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
};

/** The token contract and the name under which it checks signatures. */
type TokenDomain = Pick<X402Network, 'tokenName' | 'tokenVersion' | 'chainId' | 'asset'>;

export function transferDigest(transfer: TransferAuthorization, domain: TokenDomain): Uint8Array {
  const { from, to, value, validAfter, validBefore, nonce } = transfer;
  return hashTypedData({
    domain: {
      name: domain.tokenName,
      version: domain.tokenVersion,
      chainId: domain.chainId,
      verifyingContract: domain.asset,
    },
    types,
    primaryType: 'TransferWithAuthorization',
    message: { from, to, value, validAfter, validBefore, nonce },
  });
}

/** Whether the holder's own key made the signature (`0x` hex, 65 bytes). Contract wallets are not asked here. */
export function isSignedByHolder(
  transfer: TransferAuthorization,
  signature: string,
  domain: TokenDomain,
): boolean {
  return holderKey(transferDigest(transfer, domain), signature, transfer.from) !== undefined;
}

/** The holder's uncompressed key, where it made the signature. */
export function holderKey(digest: Uint8Array, signature: string, holder: string): Uint8Array | undefined {
  const bytes = Buffer.from(signature.slice(2), 'hex');
  if (bytes.length !== 65) return undefined;
  const key = recoverEthereumKey(digest, bytes, { allowRawRecovery: true });
  if (key === undefined) return undefined;
  return ethereumAddress(key) === parseEthereumAddress(holder.toLowerCase()) ? key : undefined;
}
