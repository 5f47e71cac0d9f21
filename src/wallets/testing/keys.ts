/** Keys for tests, the same in every run. */
import { createHash } from 'node:crypto';
import { labelledPrime, rsaKeyOf } from '../arweave/labelled-key.ts';
import type { ArweaveKey } from '../arweave/rsa.ts';
import { ed25519PrivateKey } from '../solana/ed25519.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest();

export const testArweaveKey: ArweaveKey = rsaKeyOf(
  labelledPrime('credit-gateway test key p', 4),
  labelledPrime('credit-gateway test key q', 1991),
);
/** Those of other wallets. */
export const moreArweaveKeys = {
  second: moreRsaKey('second', 1492, 950),
  third: moreRsaKey('third', 568, 313),
  fourth: moreRsaKey('fourth', 290, 525),
};
export const testEd25519Key = ed25519PrivateKey(sha256('credit-gateway test seed'));
export const testEthereumKey = sha256('credit-gateway test eth');

/** More keys of the quick kinds. */
export const ed25519TestKey = (label: string) => ed25519PrivateKey(sha256(`ed25519 ${label}`));
export const ethereumTestKey = (label: string) => sha256(`secp256k1 ${label}`);

function moreRsaKey(label: string, p: number, q: number): ArweaveKey {
  return rsaKeyOf(
    labelledPrime(`turnpike ${label} test key p`, p),
    labelledPrime(`turnpike ${label} test key q`, q),
  );
}
