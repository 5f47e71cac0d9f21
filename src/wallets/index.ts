/**
 * Addresses and signatures of every chain: Arweave (RSA-PSS), Ethereum (secp256k1), Solana (Ed25519), and the
 * data items they sign. Pure computation; it may call `formats` only. Import the file you need:
 *
 *   address.ts              reading and normalising addresses
 *   request-signature.ts    which wallet sent a signed request
 *   message-signature.ts    the verifier behind it
 *   data-items/             signing and verifying data items; `verify-tasks.ts` does it on worker threads
 *   arweave/ ethereum/ solana/   keys, addresses and signatures of one chain
 */
export {
  type AddressKind,
  addressKind,
  normalizeAddress,
  parseAddress,
  type WalletAddress,
} from './address.ts';
export { type RequestSignature, verifyRequestSignature } from './request-signature.ts';
