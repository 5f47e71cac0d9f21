/** Chains that know what a test tells them, and can be switched off. */
import type { AcceptedToken, ChainTransaction } from './chain.ts';
import type { ChainPaymentRow } from './store.ts';

/** The wallets that are paid in tests. */
export const serviceWallets = {
  arweave: 'ServiceWalletServiceWalletServiceWalletSer0',
  formerArweave: 'FormerWalletFormerWalletFormerWalletFormer0',
  ethereum: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
};

/** What a test may switch. */
export interface FakeChains {
  /** All of them, or the one of that name. */
  chainDown: boolean | string;
  /** What the chains know: `chain id` -> transaction. */
  readonly transactions: Map<string, ChainTransaction>;
  /** What every look at a chain waits for. */
  slow: Promise<void> | undefined;
  /** How often a chain was asked. */
  lookups: number;
}

/** These chains list nothing: a test that wants more gives a list of its own. */
async function* listNothing(): AsyncGenerator<never> {}

export function fakeTokens(outside: FakeChains): Map<string, AcceptedToken> {
  const reader = (chain: string, parseId: (text: string) => string | undefined) => ({
    parseId,
    async read(id: string): Promise<ChainTransaction> {
      outside.lookups += 1;
      await outside.slow;
      if (outside.chainDown === true || outside.chainDown === chain) throw new Error('the chain is down');
      return outside.transactions.get(`${chain} ${id}`) ?? { state: 'not-found' };
    },
  });
  const arweave: AcceptedToken = {
    token: 'arweave',
    chain: 'arweave',
    wallet: serviceWallets.arweave,
    formerWallets: [serviceWallets.formerArweave],
    addressKind: 'arweave',
    history: () => listNothing(),
    reader: reader('arweave', (text) => (/^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined)),
  };
  const matic: AcceptedToken = {
    token: 'matic',
    chain: 'polygon',
    wallet: serviceWallets.ethereum,
    addressKind: 'ethereum',
    history: () => listNothing(),
    reader: reader('polygon', (text) => (/^0x[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : undefined)),
  };
  const usdc = reader('polygon-usdc', matic.reader.parseId);
  return new Map([
    ['arweave', arweave],
    ['matic', matic],
    ['pol', { ...matic, token: 'pol' }],
    ['polygon-usdc', { ...matic, token: 'polygon-usdc', reader: usdc }],
  ]);
}

/** One that was reported and waits. */
export const aChainPayment: ChainPaymentRow = {
  ...{
    chain: 'arweave',
    transaction_id: 'tx',
    token: 'arweave',
    state: 'pending',
    quantity: '10',
    winc: '9',
  },
  ...{ adjustments: '[]', usd_equivalent: '1', sender: 'from', destination: 'to' },
  ...{ destination_type: 'arweave', referer: null, created_at: 1, ended_at: null, block_height: null },
  ...{ failure_reason: null, checks: 0, checked_at: 2, next_check_at: 0, missing_since: null },
  seen_height: null,
};
