/** A wallet out of a key that the page has: of the local network, or made in this browser. */
import { serviceUrl } from '../services/settings.ts';
import type { KeySigner } from './keys/key-signer.ts';
import { signedHeaders } from './request.ts';
import { newTransfer, postTransfer, signTransfer } from './send/arweave.ts';
import { messageOf, newSolTransfer, sendSolanaTransaction, withSignature } from './send/solana.ts';
import type { Wallet } from './wallet.ts';

type About = Pick<Wallet, 'address' | 'label' | 'source'>;

export function keyWallet(signer: KeySigner, about: About): Wallet {
  const { kind, signatureType, publicKey } = signer;
  const common = {
    ...about,
    kind,
    signatureType,
    publicKey: () => Promise.resolve(publicKey),
    signItem: (message: Uint8Array) => signer.signItem(message),
    signText: (text: string) => signer.signText(text),
  };
  const signRequest: Wallet['signRequest'] = (options) => signedHeaders(common, options);
  const signTypedData = signer.signTypedData?.bind(signer);
  const signSolanaTransaction = async (transaction: Uint8Array): Promise<Uint8Array> =>
    withSignature(transaction, publicKey, await signer.signBytes(messageOf(transaction)));
  return {
    ...common,
    signRequest,
    ...(signTypedData !== undefined && { signTypedData }),
    ...(kind === 'solana' && { signSolanaTransaction }),
    ...(kind === 'arweave' && { send: (token, to, amount) => sendAr(signer, token, to, amount) }),
    ...(kind === 'solana' &&
      serviceUrl('solana') !== undefined && {
        send: async (token, to, amount) => {
          if (token !== 'solana') throw new TypeError(`this wallet cannot send ${token}`);
          return sendSol(about.address, to, amount, signSolanaTransaction);
        },
      }),
  } satisfies Wallet;
}

async function sendAr(signer: KeySigner, token: string, to: string, winston: bigint): Promise<string> {
  if (token !== 'arweave') throw new TypeError(`this wallet cannot send ${token}`);
  const node = arweaveNode();
  const unsigned = await newTransfer(node, { to, winston });
  const signed = await signTransfer(unsigned, signer.publicKey, (message) => signer.signBytes(message));
  return postTransfer(node, signed);
}

/** Whoever takes transactions: the gateway. */
export function arweaveNode(): string {
  const url = serviceUrl('gateway') ?? serviceUrl('arweave');
  if (url === undefined) throw new Error('no gateway is configured to send through');
  return url;
}

export async function sendSol(
  from: string,
  to: string,
  lamports: bigint,
  sign: (transaction: Uint8Array) => Promise<Uint8Array>,
): Promise<string> {
  const rpc = serviceUrl('solana') ?? '';
  return sendSolanaTransaction(rpc, await sign(await newSolTransfer(rpc, { from, to, lamports })));
}
