/** `/price/{size}[/{target}]` and `/wallet/{address}/…`. */
import { isArweaveAddress } from '../../../formats/base64url.ts';
import type { App } from '../../../kernel/http/server.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { readWallet } from '../chain/wallets.ts';
import { badRequest, invalidAddress } from '../errors.ts';
import { storageFee } from '../fees.ts';
import { addGet, param, parseDigits, sendText } from './answers.ts';

export function priceAndWalletRoutes(app: App, node: LocalNode): void {
  const size = (text: string): number => {
    const bytes = parseDigits(text);
    if (bytes === undefined) throw badRequest('size_must_be_an_integer');
    return bytes;
  };
  const address = (text: string): string => {
    if (!isArweaveAddress(text)) throw invalidAddress();
    return text;
  };

  addGet(app, '/price/:size', 'Winston to store so many bytes', (request, reply) =>
    sendText(reply, String(storageFee(size(param(request, 'size')), false))),
  );

  addGet(app, '/price/:size/:target', 'The same, with a transfer to the target', async (request, reply) => {
    const bytes = size(param(request, 'size'));
    const target = param(request, 'target');
    // The contract's path ends with the word itself: the price for a recipient that has no wallet yet.
    const opensAccount = target === 'target' || (await readWallet(node.sql, address(target))) === undefined;
    return sendText(reply, String(storageFee(bytes, opensAccount)));
  });

  addGet(app, '/wallet/:address/balance', 'Winston in a wallet', async (request, reply) => {
    const wallet = await readWallet(node.sql, address(param(request, 'address')));
    return sendText(reply, String(wallet?.balance ?? 0n));
  });

  addGet(app, '/wallet/:address/last_tx', 'Id of the last transaction it sent', async (request, reply) => {
    const wallet = await readWallet(node.sql, address(param(request, 'address')));
    return sendText(reply, wallet?.lastTx ?? '');
  });
}
