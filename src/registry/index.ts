/**
 * The chain that names live on, read and written over Solana's JSON-RPC, and the names as they stand there:
 * whom a name belongs to, what it points at. The local ledger and the public clusters are the same to it.
 *
 *   transport.ts      one call to one of several nodes, with time-outs and limits
 *   chain.ts          the calls that are used, with checked answers
 *   name-registry.ts  names, tokens and records decoded from accounts
 *
 * It may call wallets, formats, kernel and config. Names, gateway and router stand on it. Import the file.
 */
export { ChainRefused, ChainUnavailable } from './errors.ts';
