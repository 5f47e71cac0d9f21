/**
 * The owner's proof of a record action (interface §5): an Ed25519 signature over the action and every field it
 * carries, followed by a nonce of its own. Nothing stands between the last field and the nonce, so the nonce has one
 * form and one length: a UUID. A client that names the service (`x-owner-service-address`) signs its address too.
 */
import { ownerNonceKey, type SpentKey, signatureKey } from '../../credits/signatures/spent-signatures.ts';
import { decodeBase64url } from '../../formats/base64url.ts';
import { type SolanaAddress, toSolanaAddress } from '../../formats/solana/address.ts';
import { signatureHash, verifyMessage } from '../../wallets/message-signature.ts';
import { canonicalUuid } from '../../wallets/request-signature.ts';
import {
  ownerNonceRefused,
  signatureForAnotherService,
  signatureRequired,
  unboundRefused,
  unboundSignature,
} from '../errors.ts';
import type { RecordRequest } from '../requests/action.ts';

/** Stands for a field that is cleared or left out: published clients sign both the same. */
const absent = '\u0000';
/** Stands for a field that is left out, where a client tells it from a cleared one. */
const untouched = '\u0002';
const keywordSeparator = '\u0001';
const boundPrefix = 'turnpike owner proof';

export interface OwnerProof {
  readonly publicKey: string;
  readonly nonce: string;
  readonly signature: string;
  /** The service that the proof is for; undefined: whichever it is shown to. */
  readonly service?: string | undefined;
}

/** What a proof is held against beside its request. */
interface ProofRules {
  /** This service's address. */
  readonly service: string;
  /** Whether a proof must name it. */
  readonly requireBound: boolean;
}

/** An owner whose proof holds. */
export interface ProvenOwner {
  readonly address: SolanaAddress;
  /** What the proof is used up by. */
  readonly keys: readonly SpentKey[];
}

type HeaderValue = string | string[] | undefined;

/** The headers of a proof, or the refusal that says they are needed. */
export function readOwnerProof(headers: Readonly<Record<string, HeaderValue>>): OwnerProof {
  const publicKey = headers['x-owner-public-key'];
  const nonce = headers['x-owner-nonce'];
  const signature = headers['x-owner-signature'];
  const type = headers['x-owner-signature-type'];
  const service = headers['x-owner-service-address'];
  if (typeof publicKey !== 'string' || typeof nonce !== 'string' || typeof signature !== 'string') {
    throw signatureRequired();
  }
  if (type === undefined) throw signatureRequired();
  if (type !== '4' || Array.isArray(service)) throw unboundSignature();
  return { publicKey, nonce, signature, service };
}

/** The owner who signed exactly this request, for this service or for any; refuses anything else. */
export function verifyOwnerProof(request: RecordRequest, proof: OwnerProof, rules: ProofRules): ProvenOwner {
  const { service } = proof;
  if (service === undefined && rules.requireBound) throw unboundRefused();
  if (service !== undefined && service !== rules.service) throw signatureForAnotherService();
  const uuid = canonicalUuid(proof.nonce);
  if (uuid === undefined) throw ownerNonceRefused();
  const publicKey = bytesOf(proof.publicKey, 32);
  const signature = bytesOf(proof.signature, 64);
  for (const message of proofMessages(request)) {
    const bytes = Buffer.from(ownerText(message, proof));
    if (verifyMessage(2, publicKey, bytes, signature) === undefined) continue;
    const address = toSolanaAddress(publicKey);
    return { address, keys: [ownerNonceKey(address, uuid), signatureKey(signatureHash(signature))] };
  }
  throw unboundSignature();
}

/** What the owner signs: the lines and the nonce, after the service where the proof names one. */
export function ownerText(
  message: string,
  { nonce, service }: Pick<OwnerProof, 'nonce' | 'service'>,
): string {
  if (service === undefined) return message + nonce;
  return [boundPrefix, service, message, nonce].join('\n');
}

function bytesOf(text: string, length: number): Buffer {
  try {
    const bytes = decodeBase64url(text.replace(/=+$/, ''));
    if (bytes.length === length) return bytes;
  } catch {
    // Falls through to the one refusal.
  }
  throw unboundSignature();
}

/** The text a client signs, and the stricter one where a left-out field is told from a cleared one. */
export function proofMessages(request: RecordRequest): string[] {
  const lines = (...fields: readonly string[]) =>
    ['arns', request.action, request.antId, request.undername, ...fields].join('\n');
  switch (request.action) {
    case 'set-record':
      return [lines(request.transactionId, String(request.ttlSeconds))];
    case 'remove-record':
    case 'remove-record-metadata':
      return [lines()];
    case 'transfer-record':
      return [lines(request.target)];
    case 'set-record-metadata': {
      const { displayName, recordLogo, recordDescription, recordKeywords } = request.change;
      const keywords = recordKeywords ? recordKeywords.join(keywordSeparator) : recordKeywords;
      const values = [displayName, recordLogo, recordDescription, keywords];
      const spelled = (leftOut: string) =>
        lines(...values.map((value) => (value === undefined ? leftOut : (value ?? absent))));
      return [spelled(absent), spelled(untouched)];
    }
  }
}
