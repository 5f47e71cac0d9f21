/** x402, version 1: what a server asks to be paid, signed as a token transfer (EIP-3009) by the wallet that pays. */
import { findX402Network } from '../../formats/x402/networks.ts';
import { encodeBase64, encodeHex, utf8 } from '../services/encoding.ts';

/** One of the `accepts` of a 402 answer. */
export interface PaymentRequirement {
  readonly scheme: string;
  readonly network: string;
  readonly maxAmountRequired: string;
  readonly payTo: string;
  readonly asset: string;
  readonly maxTimeoutSeconds: number;
  readonly extra?: { readonly name?: string; readonly version?: string };
}

interface Authorization {
  readonly from: string;
  readonly to: string;
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  readonly nonce: string;
}

/** Six decimals, on every chain. */
export const usdcDecimals = 6;

/** The first that this page can pay; undefined where there is none. */
export function payableRequirement(accepts: readonly PaymentRequirement[]): PaymentRequirement | undefined {
  return accepts.find(({ scheme, network }) => scheme === 'exact' && findX402Network(network) !== undefined);
}

/** `nowSeconds`: of the chain's clock. */
export function newAuthorization(
  { payTo, maxAmountRequired, maxTimeoutSeconds }: PaymentRequirement,
  from: string,
  nowSeconds: number,
): Authorization {
  return {
    from,
    to: payTo,
    value: maxAmountRequired,
    validAfter: '0',
    validBefore: String(Math.floor(nowSeconds) + maxTimeoutSeconds),
    nonce: `0x${encodeHex(crypto.getRandomValues(new Uint8Array(32)))}`,
  };
}

const domainType = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];
const transferType = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
];

/** As `eth_signTypedData_v4` takes it. */
export function authorizationTypedData(
  { network, asset, extra }: PaymentRequirement,
  message: Authorization,
): object {
  const known = findX402Network(network);
  if (known === undefined) throw new RangeError(`the chain ${network} is not known`);
  return {
    types: { EIP712Domain: domainType, TransferWithAuthorization: transferType },
    primaryType: 'TransferWithAuthorization',
    domain: {
      name: extra?.name ?? known.tokenName,
      version: extra?.version ?? known.tokenVersion,
      chainId: known.chainId,
      verifyingContract: asset,
    },
    message,
  };
}

/** The value of `x-payment`. */
export function paymentHeader(
  { scheme, network }: PaymentRequirement,
  authorization: Authorization,
  signature: string,
): string {
  const payment = { x402Version: 1, scheme, network, payload: { signature, authorization } };
  return encodeBase64(utf8(JSON.stringify(payment)));
}
