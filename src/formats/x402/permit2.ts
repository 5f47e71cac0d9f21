/**
 * What the `upto` scheme stands on: a wallet permits Permit2 to move up to an amount, to one recipient, by one
 * facilitator, through the protocol's own contract. Nonces are bits of a map that the contract keeps per wallet.
 */

/** The same on every chain. */
export const permit2Contract = '0x000000000022D473030F116dDEE9F6B43aC78BA3';
/** Moves what it is asked to, never more than was permitted: the spender of every such permit. */
export const upToContract = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002';

/** `nonceBitmap(address,uint256)` of Permit2: the map's word in which a nonce has its bit. */
export const nonceBitmapSelector = '0x4fe02b44';

export function noncePlace(nonce: string): { readonly word: bigint; readonly bit: bigint } {
  const value = BigInt(nonce);
  return { word: value >> 8n, bit: value & 255n };
}
