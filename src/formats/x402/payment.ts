/**
 * A payment as a client sends it: base64 JSON in `X-PAYMENT` (version 1) or `PAYMENT-SIGNATURE` (version 2).
 * The version inside decides, not the header's name. Everything is read strictly and bounded; numbers may come
 * as decimal text or as JSON integers and leave as text.
 */
import { FormatError } from '../format-error.ts';
import { isRecord } from '../json.ts';

/** EIP-3009 `TransferWithAuthorization`, as it is signed. */
export interface TransferAuthorization {
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  /** 32 bytes as `0x` hex, lower case. */
  readonly nonce: string;
}

export interface X402Payment {
  readonly version: 1 | 2;
  readonly scheme: string;
  /** As the client named it: version 1's name or CAIP-2. */
  readonly network: string;
  readonly authorization: TransferAuthorization;
  /** `0x` hex. */
  readonly signature: string;
  /** Version 2 repeats the requirement it answers. */
  readonly accepted: AcceptedRequirement | undefined;
  /** What is handed to the facilitator, with the numbers as text. */
  readonly payload: PaymentPayload;
}

export interface AcceptedRequirement {
  readonly amount: string;
  readonly asset: string;
  readonly payTo: string;
}

export type PaymentPayload = Readonly<Record<string, unknown>> & { readonly x402Version: 1 | 2 };

/** The header cannot be read as a payment at all. */
export class MalformedPayment extends FormatError {
  override readonly name = 'MalformedPayment';
}

/** It can be read, and is of a version of the protocol that is not known. */
export class UnknownPaymentVersion extends FormatError {
  override readonly name = 'UnknownPaymentVersion';
}

const maxHeaderLength = 32 * 1024;
const maxSignatureBytes = 8192;

export function decodePayment(header: string): X402Payment {
  if (header.length > maxHeaderLength) throw new MalformedPayment('longer than any payment');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(header)) throw new MalformedPayment('not base64');
  let decoded: unknown;
  try {
    decoded = JSON.parse(Buffer.from(header, 'base64').toString());
  } catch {
    throw new MalformedPayment('not JSON');
  }
  return readPayment(decoded);
}

/** The same for a payload that comes inside a JSON body, as facilitators take it. */
export function readPayment(decoded: unknown): X402Payment {
  const whole = record(decoded, 'payment');
  const version = whole.x402Version;
  if (version !== 1 && version !== 2) {
    if (!Number.isInteger(version)) throw new MalformedPayment('x402Version is missing');
    throw new UnknownPaymentVersion(`version ${String(version)}`);
  }
  const payload = record(whole.payload, 'payload');
  const authorization = readAuthorization(payload.authorization);
  const signature = text(payload.signature, 'signature');
  if (!/^0x([0-9a-fA-F]{2})+$/.test(signature) || signature.length > 2 + 2 * maxSignatureBytes) {
    throw new MalformedPayment('signature is not hex');
  }
  const exact = { signature, authorization: writeAuthorization(authorization) };
  const accepted = version === 1 ? whole : record(whole.accepted, 'accepted');
  const scheme = text(accepted.scheme, 'scheme');
  const network = text(accepted.network, 'network');
  const read = { version, scheme, network, authorization, signature } as const;
  if (version === 1) {
    return { ...read, accepted: undefined, payload: { x402Version: 1, scheme, network, payload: exact } };
  }
  return {
    ...read,
    accepted: {
      amount: text(accepted.amount, 'amount'),
      asset: text(accepted.asset, 'asset'),
      payTo: text(accepted.payTo, 'payTo'),
    },
    payload: { ...whole, x402Version: 2, payload: exact },
  };
}

function readAuthorization(value: unknown): TransferAuthorization {
  const fields = record(value, 'authorization');
  return {
    from: address(fields.from, 'from'),
    to: address(fields.to, 'to'),
    value: integer(fields.value, 'value'),
    validAfter: integer(fields.validAfter, 'validAfter'),
    validBefore: integer(fields.validBefore, 'validBefore'),
    nonce: nonce(fields.nonce),
  };
}

export function writeAuthorization(authorization: TransferAuthorization): Record<string, string> {
  const { value, validAfter, validBefore } = authorization;
  return {
    ...authorization,
    value: value.toString(),
    validAfter: validAfter.toString(),
    validBefore: validBefore.toString(),
  };
}

function record(value: unknown, name: string): Record<string, unknown> {
  if (!isRecord(value)) throw new MalformedPayment(`${name} is not an object`);
  return value;
}

function text(value: unknown, name: string): string {
  if (typeof value !== 'string' || value.length > 2 + 2 * maxSignatureBytes) {
    throw new MalformedPayment(`${name} is not text`);
  }
  return value;
}

function address(value: unknown, name: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(value)) {
    throw new MalformedPayment(`${name} is not an address`);
  }
  return value;
}

/** Up to 2^256 − 1, as text of digits or a safe JSON integer. */
function integer(value: unknown, name: string): bigint {
  const digits = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof digits !== 'string' || !/^(0|[1-9][0-9]{0,77})$/.test(digits) || BigInt(digits) >> 256n !== 0n) {
    throw new MalformedPayment(`${name} is not a number`);
  }
  return BigInt(digits);
}

function nonce(value: unknown): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(value)) {
    throw new MalformedPayment('nonce is not 32 bytes');
  }
  return value.toLowerCase();
}
