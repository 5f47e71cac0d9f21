/** Lends credits and takes them back by the tags of an item, kept to this one service where it says who it is. */
import type { Tag } from '../../../formats/avro-tags.ts';
import { signFile } from '../../items/item.ts';
import { paymentInfo } from '../../services/payment.ts';
import { sendItem } from '../../services/upload.ts';
import type { Wallet } from '../../wallet/wallet.ts';

interface Loan {
  readonly to: string;
  readonly winc: bigint;
  /** 0: until it is taken back. */
  readonly seconds: number;
}

export async function lend(wallet: Wallet, { to, winc, seconds }: Loan): Promise<void> {
  await sendTagged(wallet, [
    { name: 'x-approve-payment', value: to },
    { name: 'x-amount', value: String(winc) },
    ...(seconds > 0 ? [{ name: 'x-expires-seconds', value: String(seconds) }] : []),
  ]);
}

export const takeBack = (wallet: Wallet, from: string): Promise<void> =>
  sendTagged(wallet, [{ name: 'x-delete-payment-approval', value: from }]);

const timeoutMs = 60_000;

async function sendTagged(wallet: Wallet, tags: readonly Tag[]): Promise<void> {
  const { addresses, boundSignatures } = await paymentInfo();
  const service = boundSignatures === undefined ? undefined : addresses.arweave;
  // Two equal loans are two items: the data tells them apart.
  const data = new Blob([crypto.randomUUID()]);
  const { hashItem } = await import('../../items/item-message.ts');
  const bound = service === undefined ? tags : [...tags, { name: 'x-service-address', value: service }];
  const { header } = await signFile(wallet, data, bound, (fields, file) => hashItem(fields, file));
  await sendItem(wallet.kind, new Blob([header, data]), { signal: AbortSignal.timeout(timeoutMs) });
}
