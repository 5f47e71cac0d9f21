/** Whose wallet is needed to change a name. */
import type { NameNow } from '../../services/names.ts';
import type { Proposal } from './proposal.ts';

/** Where the service does not tell the owner, whoever says to be it may try: the chain knows. */
export const ownerWanted = ({ token }: NameNow): Proposal['owner'] =>
  token === undefined ? 'any' : { address: token.owner };

/** The service holds the token for somebody who had no Solana wallet. */
export const isCustodial = ({ token, service }: NameNow): boolean =>
  token !== undefined && token.owner === service;
