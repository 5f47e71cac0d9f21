/** Somebody who sends coins to the service and reports it: at once, late, twice, to several addresses, and again. */
import { newTransaction } from '../../../src/formats/arweave/transaction.ts';
import { transactionToJson } from '../../../src/formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../../src/formats/arweave/transaction-signature.ts';
import { decodeBase64url, toTxId } from '../../../src/formats/base64url.ts';
import { memberOf, textOf, tryParseJson } from '../../../src/formats/json.ts';
import { storageFee } from '../../../src/localnet/arweave/rules.ts';
import type { ArweaveKey } from '../../../src/wallets/arweave/rsa.ts';
import { ethereumAddress } from '../../../src/wallets/ethereum/address.ts';
import { publicKeyOf } from '../../../src/wallets/ethereum/secp256k1.ts';
import { ethereumTestKey } from '../../../src/wallets/testing/keys.ts';
import { skewed } from '../faults.ts';
import { hour, minute, second } from '../person.ts';
import type { Life } from '../process.ts';
import { Customer, type CustomerOptions } from './customer.ts';
import { payee, serviceWallet } from './installation.ts';
import { returnPayment } from './return-request.ts';

export interface ChainPromise {
  readonly id: string;
  readonly chain: 'arweave' | 'base';
  /** Whom the payer named, or the payer. */
  readonly destination: string;
  readonly quantity: bigint;
  readonly token: string;
  /** What the service said of it last. */
  told: 'credited' | 'pending' | undefined;
}

const pauseMs = 10 * minute;

export class ChainPayer extends Customer {
  readonly promises = new Map<string, ChainPromise>();
  readonly address: string;
  readonly #arweave: ArweaveKey;
  #count = 0;

  constructor(options: CustomerOptions & { readonly arweave: ArweaveKey }) {
    super(options);
    this.address = ethereumAddress(publicKeyOf(ethereumTestKey(options.name)));
    this.#arweave = options.arweave;
    options.installation.arweave.funds.set(options.arweave.address, 10n ** 15n);
  }

  readonly program = (life: Life): Promise<void> =>
    this.live(life, pauseMs, async () => {
      const { random } = this;
      const kind = random.below(6);
      const named = random.below(2) === 0 ? this.wallet.address : undefined;
      if (kind === 0) return this.#payArweave(life, named);
      if (kind === 4) return this.#reportForeign();
      if (kind === 5) {
        if (this.forgets) return;
        return returnPayment(life, this, (payment) => textOf(payment, 'token') === 'arweave');
      }
      const isDollars = kind < 3;
      const quantity = BigInt(random.between(1, 9)) * (isDollars ? 1_000_000n : 10n ** 15n);
      const memo =
        named === undefined ? '' : Buffer.from(`turboCreditDestinationAddress=${named}`).toString('hex');
      const { chain } = this.installation;
      const { hash } = isDollars
        ? chain.send({
            ...{ from: this.address, to: chain.asset, value: 0n },
            input: `0xa9059cbb${word(payee.slice(2))}${word(quantity.toString(16))}${memo}`,
            transfer: { from: this.address, to: payee, value: quantity },
          })
        : chain.send({ from: this.address, to: payee, value: quantity, input: `0x${memo}` });
      this.tell(`sent ${quantity} of ${isDollars ? 'dollars' : 'ether'} as ${hash.slice(0, 8)}`);
      const promise: ChainPromise = {
        ...{ id: hash, chain: 'base', quantity, told: undefined },
        ...{ token: isDollars ? 'base-usdc' : 'base-eth', destination: named ?? this.address },
      };
      this.promises.set(hash, promise);
      await this.#report(life, promise);
    });

  /** The service has forgotten what was reported lately: all of it is reported again. */
  reportAgain(): void {
    for (const promise of this.promises.values()) {
      if (promise.told === undefined) continue;
      promise.told = undefined;
      const { life } = this.process;
      life?.after(0, () => void this.#report(life, promise));
    }
  }

  async #report(life: Life, promise: ChainPromise): Promise<void> {
    const asked = {
      path: `/v1/account/balance/${promise.token}`,
      method: 'POST',
      body: JSON.stringify({ tx_id: promise.id }),
    } as const;
    await life.wait(skewed(this.random, 0, hour));
    // Impatient people report to two addresses at once.
    if (this.random.below(3) === 0) void this.ask(this.payment(), asked);
    for (let tried = 0; tried < 40; tried += 1) {
      const answer = await this.ask(this.payment(), asked);
      if (answer?.status === 200 || answer?.status === 202) {
        if (promise.told === 'credited' && answer.status === 202)
          this.world.broken(`${promise.id} was credited, and is pending`);
        promise.told = answer.status === 200 ? 'credited' : 'pending';
        const told = memberOf(
          tryParseJson(answer.body.toString()),
          answer.status === 200 ? 'creditedTransaction' : 'pendingTransaction',
        );
        const destination = textOf(told, 'destinationAddress');
        if (destination !== promise.destination)
          this.world.broken(
            `${promise.id} is for ${promise.destination}, and is said to be for ${destination}`,
          );
        if (answer.status === 200 && this.random.below(2) === 0) break;
      }
      if (promise.told === 'credited') {
        this.tell(`${promise.id.slice(0, 8)} is credited`);
        break;
      }
      await life.wait(skewed(this.random, 5 * second, 20 * minute));
    }
  }

  /** What was paid by x402 is not paid once more. */
  async #reportForeign(): Promise<void> {
    const transfers = [...this.installation.chain.transactions.values()].filter(
      ({ transfer }) => transfer?.authorization !== undefined,
    );
    if (transfers.length === 0) return;
    const { hash } = this.random.pick(transfers);
    const path = `/v1/account/balance/${this.random.pick(['base-usdc', 'base-eth'])}`;
    const answer = await this.ask(this.payment(), {
      path,
      method: 'POST',
      body: JSON.stringify({ tx_id: hash }),
    });
    if (answer?.status === 200 || answer?.status === 202)
      this.world.broken(`${hash} was paid by x402, and is taken again with ${answer.status}`);
  }

  async #payArweave(life: Life, named: string | undefined): Promise<void> {
    const { nodes } = this.installation.arweave;
    const quantity = BigInt(this.random.between(1, 9)) * 10n ** 10n;
    const node = () => this.random.pick(nodes).url;
    const anchor = await this.ask(node(), { path: '/tx_anchor' });
    if (anchor?.status !== 200) return;
    this.#count += 1;
    const unsigned = newTransaction({
      lastTx: decodeBase64url(anchor.body.toString()),
      reward: storageFee(0n, false) + BigInt(this.#count),
      target: decodeBase64url(serviceWallet.address),
      quantity,
      tags: named === undefined ? [] : [{ name: 'Turbo-Credit-Destination-Address', value: named }],
    });
    const signed = await signTransactionAsync(unsigned, this.#arweave.privateKey);
    const id = toTxId(signed.id);
    const body = JSON.stringify(transactionToJson(signed, 'header'));
    for (let copies = 0; copies < 3; copies += 1)
      await this.ask(node(), { path: '/tx', method: 'POST', body });
    this.tell(`sent ${quantity} winston as ${id.slice(0, 6)}`);
    const promise: ChainPromise = {
      ...{ id, chain: 'arweave', quantity, told: undefined },
      ...{ token: 'arweave', destination: named ?? this.#arweave.address },
    };
    this.promises.set(id, promise);
    await this.#report(life, promise);
  }
}

const word = (digits: string): string => digits.toLowerCase().padStart(64, '0');
