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

/** Of a payment by the `upto` scheme: what the permit says beside the authorisation, whose value is the most it allows. */
export interface PermitTerms {
  readonly token: string;
  readonly spender: string;
  readonly facilitator: string;
}

export interface X402Payment {
  readonly version: 1 | 2;
  readonly scheme: string;
  /** As the client named it: version 1's name or CAIP-2. */
  readonly network: string;
  /** Of a permit the same in other words: who pays whom how much at most, and when. */
  readonly authorization: TransferAuthorization;
  readonly permit: PermitTerms | undefined;
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
  const permitted = version === 2 && 'permit2Authorization' in payload;
  const { authorization, permit } = permitted
    ? readPermit(payload.permit2Authorization)
    : { authorization: readAuthorization(payload.authorization), permit: undefined };
  const signature = text(payload.signature, 'signature');
  if (!/^0x([0-9a-fA-F]{2})+$/.test(signature) || signature.length > 2 + 2 * maxSignatureBytes) {
    throw new MalformedPayment('signature is not hex');
  }
  const signed =
    permit === undefined
      ? { signature, authorization: writeAuthorization(authorization) }
      : { signature, permit2Authorization: writePermit(authorization, permit) };
  const accepted = version === 1 ? whole : record(whole.accepted, 'accepted');
  const scheme = text(accepted.scheme, 'scheme');
  const network = text(accepted.network, 'network');
  const read = { version, scheme, network, authorization, permit, signature } as const;
  if (version === 1) {
    return { ...read, accepted: undefined, payload: { x402Version: 1, scheme, network, payload: signed } };
  }
  return {
    ...read,
    accepted: {
      amount: text(accepted.amount, 'amount'),
      asset: text(accepted.asset, 'asset'),
      payTo: text(accepted.payTo, 'payTo'),
    },
    payload: { ...whole, x402Version: 2, payload: signed },
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

function readPermit(value: unknown): { authorization: TransferAuthorization; permit: PermitTerms } {
  const fields = record(value, 'permit2Authorization');
  const permitted = record(fields.permitted, 'permitted');
  const witness = record(fields.witness, 'witness');
  return {
    authorization: {
      from: address(fields.from, 'from'),
      to: address(witness.to, 'to'),
      value: integer(permitted.amount, 'amount'),
      validAfter: integer(witness.validAfter, 'validAfter'),
      validBefore: integer(fields.deadline, 'deadline'),
      nonce: `0x${integer(fields.nonce, 'nonce').toString(16).padStart(64, '0')}`,
    },
    permit: {
      token: address(permitted.token, 'token'),
      spender: address(fields.spender, 'spender'),
      facilitator: address(witness.facilitator, 'facilitator'),
    },
  };
}

export function writePermit(
  { from, to, value, validAfter, validBefore, nonce }: TransferAuthorization,
  { token, spender, facilitator }: PermitTerms,
) {
  return {
    from,
    permitted: { token, amount: value.toString() },
    spender,
    nonce: BigInt(nonce).toString(),
    deadline: validBefore.toString(),
    witness: { to, facilitator, validAfter: validAfter.toString() },
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
