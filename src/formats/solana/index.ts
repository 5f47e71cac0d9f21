/**
 * Solana as bytes: addresses and derived addresses, wire transactions, the accounts and instructions of the
 * programs that keep names (ArNS) and name tokens (ANT), and the price rules of names. Encoders and decoders of
 * one layout are one definition (`codec.ts`), so the local ledger, the name service and the gateway cannot
 * disagree about a byte. Pure: nothing here signs, sends or reads a clock. Import the file you need.
 */
export { FormatError } from '../format-error.ts';
