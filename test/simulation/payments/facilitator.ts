/**
 * An x402 facilitator of the simulated world: it verifies signatures, carries transfers out on its chain, and answers when
 * they are in a block. It may be late, refuse, break, and say that it failed after it has sent.
 */
import { memberOf, tryParseJson } from '../../../src/formats/json.ts';
import { x402Reasons } from '../../../src/formats/x402/facilitator.ts';
import { findX402Network } from '../../../src/formats/x402/networks.ts';
import { readPayment, type X402Payment } from '../../../src/formats/x402/payment.ts';
import { isSignedByHolder } from '../../../src/wallets/ethereum/transfer-authorization.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { EvmNetwork, EvmTransaction } from '../evm.ts';
import type { Answered, Asked, Network } from '../network.ts';
import type { Life } from '../process.ts';
import type { Fault } from '../scenario.ts';
import type { World } from '../world.ts';

const second = 1_000;
const minute = 60 * second;

type Mood = 'late' | 'breaks before' | 'breaks after' | 'refuses' | 'says no after sending';

export class Facilitator {
  readonly url = 'http://facilitator.test';
  mood: Mood | undefined;
  readonly #world: World;
  readonly #chain: EvmNetwork;
  readonly #random: SeededRandom;
  readonly #sent = new Map<string, EvmTransaction>();

  constructor(world: World, network: Network, chain: EvmNetwork) {
    this.#world = world;
    this.#chain = chain;
    this.#random = world.random('facilitator');
    const process = world.process('facilitator');
    const life = process.start(async () => {});
    network.host(this.url, life, (asked) => this.#answer(life, asked));
  }

  async #answer(life: Life, { path, body }: Asked): Promise<Answered> {
    if (path === '/supported') return json({ kinds: [], extensions: [], signers: {} });
    const asked = tryParseJson(body.toString());
    const payment = readPayment(memberOf(asked, 'paymentPayload'));
    const isBad = this.mood !== undefined && this.#random.fraction() < 0.7;
    if (isBad && this.mood === 'breaks before') return { status: 500, body: 'no' };
    if (isBad && this.mood === 'late') await life.wait(this.#random.fraction() * 3 * minute);
    const refusal = this.#refusal(payment);
    if (path === '/verify')
      return json(refusal === undefined ? { isValid: true } : { isValid: false, invalidReason: refusal });
    const network = memberOf(memberOf(asked, 'paymentRequirements'), 'network');
    const no = (errorReason: string) => json({ success: false, errorReason, transaction: '', network });
    if (refusal !== undefined) return no(refusal);
    if (isBad && this.mood === 'refuses') return no(x402Reasons.unexpectedSettle);
    const sent = this.#send(payment);
    if (isBad && this.mood === 'breaks after') return { status: 500, body: 'no' };
    if (isBad && this.mood === 'says no after sending') return no(x402Reasons.unexpectedSettle);
    for (let looks = 0; looks < 200 && sent.block === undefined; looks += 1) await life.wait(2 * second);
    if (sent.block === undefined || !sent.isGood) return no('invalid_transaction_state');
    return json({ success: true, transaction: sent.hash, network, payer: payment.authorization.from });
  }

  #refusal({ authorization, signature, network }: X402Payment): string | undefined {
    const found = findX402Network(network);
    if (found === undefined) return x402Reasons.network;
    if (!isSignedByHolder(authorization, signature, found)) return x402Reasons.signature;
    const now = BigInt(Math.floor(this.#world.now / 1_000));
    if (authorization.validBefore < now + 6n) return x402Reasons.validBefore;
    if (authorization.validAfter > now) return x402Reasons.validAfter;
    if (this.#chain.useOf(authorization.from, authorization.nonce) !== undefined)
      return x402Reasons.nonceUsed;
    return undefined;
  }

  /** One that is under way is not sent again. */
  #send({ authorization }: X402Payment): EvmTransaction {
    const { from, to, value, nonce, validBefore } = authorization;
    const key = `${from} ${nonce}`;
    const before = this.#sent.get(key);
    if (before !== undefined && before.block === undefined) return before;
    const sent = this.#chain.send({
      from: `0x${'fa'.repeat(20)}`,
      to: this.#chain.asset,
      value: 0n,
      input: '0x',
      transfer: { from, to, value, authorization: { nonce, validBefore } },
    });
    this.#sent.set(key, sent);
    return sent;
  }
}

const json = (value: unknown): Answered => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

export function facilitatorFaults(facilitator: Facilitator): Fault[] {
  const moods: readonly Mood[] = [
    'late',
    'breaks before',
    'breaks after',
    'refuses',
    'says no after sending',
  ];
  return moods.map((mood) => ({
    name: `facilitator ${mood}`,
    longest: 30 * minute,
    begin() {
      if (facilitator.mood !== undefined) return undefined;
      facilitator.mood = mood;
      return {
        what: `the facilitator ${mood === 'late' ? 'answers late' : mood}`,
        end: () => {
          facilitator.mood = undefined;
        },
      };
    },
  }));
}
