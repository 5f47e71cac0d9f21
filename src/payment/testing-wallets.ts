/** Wallets of the tests and the headers with which they sign a request. */
import { signPss } from '../wallets/arweave/rsa.ts';
import { testArweaveKey } from '../wallets/testing/keys.ts';

export const ethereum = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
export const solana = 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB';
const nonce = '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495';

export const ethereumHeaders = {
  'x-public-key': 'BE81W9y3zAr3KO88zrlhXZBoS7Wyyl-FmrDwtwQHWHGqOFtrG46tgJymdFTZaD_PK6A0Vtb-LEq-Kwfw-9uy8cE',
  'x-nonce': nonce,
  'x-signature': 'OOehclbrZf99MBVo9MUyU0CQxg_wu8oT2ppnuf5--VEu8iUDf5grL9AeBTCIUvNpmM1o8t8jlWg6F1UpLwpGyxs',
};

/** Signed as the SDK does for Solana wallets: over the hex text of the nonce. */
export const solanaHeaders = {
  'x-public-key': '6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw',
  'x-nonce': nonce,
  'x-signature': 'qn2dJFDEye8QYwz82kmgNV4oXKKTuXExUFpkJPKsbBVTjOtnpkIWBlHFlabLrfngRJg9eFzwnlY4u_SkfSZHDQ',
  'x-signature-type': '4',
};

export async function arweaveHeaders(saltLength = 32): Promise<Record<string, string>> {
  const signature = await signPss(testArweaveKey.privateKey, Buffer.from(nonce), saltLength);
  return {
    'x-public-key': testArweaveKey.modulus.toString('base64url'),
    'x-nonce': nonce,
    'x-signature': signature.toString('base64url'),
  };
}
