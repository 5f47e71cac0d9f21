import { boolean, fraction, integer, list, milliseconds, secret, text, url, urls } from '../kinds.ts';

/** Where chain payments go, how they are looked up, and who may read what. */
export const payment = {
  JWT_SECRET: secret({
    meaning: 'Signs the tokens that stand for a verified request signature; made on first start without it',
  }),
  REQUIRE_BOUND_SIGNATURES: boolean({
    meaning:
      'Whether signatures must name this service, to act on names, to lend credits and to read; those of published clients do not',
    default: false,
  }),
  ACTING_SIGNATURES_PER_MINUTE: integer({
    meaning: 'New signatures over a UUID that are taken from one client network; each is remembered for ever',
    default: 1_200,
    min: 1,
  }),
  LOW_BALANCE_WINC: text({
    meaning:
      'Wallets that have not chosen are told when their balance falls below this; without it they are not',
    default: undefined,
  }),
  SUPPORTED_COUNTRIES: list({
    meaning: 'Countries that GET /countries lists, in this order; without it the built-in list',
    default: [],
  }),
  ARWEAVE_ADDRESS: text({
    meaning: 'Wallet that payments in AR go to; without it the service wallet',
    default: undefined,
  }),
  SOLANA_ADDRESS: text({
    meaning: 'Wallet that payments in SOL and ARIO go to; without it the service key',
    default: undefined,
  }),
  ETHEREUM_ADDRESS: text({
    meaning: 'Wallet that payments in ETH and USDC on Ethereum go to; none are taken without it',
    default: undefined,
  }),
  ETHEREUM_RPC_URL: urls({
    meaning: 'JSON-RPC of Ethereum, one or several: a payment counts as absent when all say so',
    default: [],
  }),
  MATIC_ADDRESS: text({
    meaning: 'Wallet that payments in POL (MATIC) and USDC on Polygon go to; none are taken without it',
    default: undefined,
  }),
  MATIC_RPC_URL: urls({
    meaning: 'JSON-RPC of Polygon, one or several: a payment counts as absent when all say so',
    default: [],
  }),
  BASE_ETH_ADDRESS: text({
    meaning: 'Wallet that payments in ETH and USDC on Base go to; none are taken without it',
    default: undefined,
  }),
  BASE_RPC_URL: urls({
    meaning: 'JSON-RPC of Base, one or several: a payment counts as absent when all say so',
    default: [],
  }),
  KYVE_ADDRESS: text({
    meaning: 'Wallet that payments in KYVE go to; none are taken without it',
    default: undefined,
  }),
  KYVE_API_URL: urls({
    meaning: 'REST API of KYVE, one or several: a payment counts as absent when all say so',
    default: [],
  }),
  ARWEAVE_MIN_CONFIRMATIONS: integer({
    meaning: 'Confirmations after which a payment in AR is credited; 0 = 18, or 1 in the world `local`',
    default: 0,
  }),
  ETHEREUM_MIN_CONFIRMATIONS: integer({
    meaning: 'Confirmations after which a payment on Ethereum is credited',
    default: 5,
    min: 1,
  }),
  MATIC_MIN_CONFIRMATIONS: integer({
    meaning: 'Confirmations after which a payment on Polygon is credited',
    default: 12,
    min: 1,
  }),
  BASE_MIN_CONFIRMATIONS: integer({
    meaning: 'Confirmations after which a payment on Base is credited',
    default: 5,
    min: 1,
  }),
  KYVE_MIN_CONFIRMATIONS: integer({
    meaning: 'Confirmations after which a payment in KYVE is credited; its blocks are final at once',
    default: 1,
    min: 1,
  }),
  RETURN_WINDOW_DAYS: integer({
    meaning:
      'How long after its payment what is left of it can be returned to where it came from; 0 = no payment is returned',
    default: 0,
    max: 3_650,
    inWorlds: { local: 14 },
  }),
  RETURN_FEE_PERCENT: fraction({
    meaning: 'What of a return the service keeps',
    default: 0,
    max: 99,
  }),
  RETURN_MINIMUM_CREDITS: fraction({
    meaning: 'Smallest return: sending less costs more than it is worth',
    default: 0.001,
    max: 1_000_000,
  }),
  RETURN_EVM_KEY: secret({
    meaning:
      'Private key (64 hex digits) of the Ethereum addresses that payments go to: returns are sent with it. Those of addresses that it is not the key of wait for the operator',
  }),
  CRYPTO_FUND_EXCLUDED_ADDRESSES: list({
    meaning: 'Wallets whose chain payments are refused',
    default: [],
  }),
  MAX_PAYMENT_TX_POLLING_ATTEMPTS: integer({
    meaning: 'How often a reported transaction is looked for before it counts as not found',
    default: 5,
    min: 1,
    max: 20,
  }),
  PAYMENT_TX_POLLING_WAIT_TIME_MS: milliseconds({
    meaning: 'Pause before the second look; it doubles with each further one',
    default: 500,
  }),
  MAX_PAYMENT_TX_POLLING_DELAY_MS: milliseconds({
    meaning: 'Longest pause between two looks',
    default: 8_000,
  }),
  PENDING_PAYMENT_RECHECK_MS: milliseconds({
    meaning: 'How soon a pending payment is looked at again; a repeated report looks no sooner',
    default: 2_000,
    min: 100,
  }),
  PENDING_PAYMENT_FORGET_MS: integer({
    meaning:
      'A pending payment that its chain has not known for so long fails; it is credited all the same when the chain shows it later',
    default: 86_400_000,
  }),
  PAYMENT_RATE_LIMIT_PER_MINUTE: integer({
    meaning:
      'Card quotes that one client network (IPv6: a /64) may ask for per minute, when its burst is used up; as many x402 payments of it may be refused, gifts redeemed in vain, and histories and lists of names read. 0 = no limit',
    default: 30,
    max: 1_000_000,
  }),
  PAYMENT_RATE_LIMIT_BURST: integer({
    meaning: 'How many of them at once',
    default: 100,
    min: 1,
    max: 1_000_000,
  }),
  PENDING_PAYMENT_RATE_MS: milliseconds({
    meaning:
      'How long the rate of its report holds for a pending payment; one that is confirmed later is credited at the rate of that moment',
    default: 10_800_000,
  }),
  UNKNOWN_PAYMENTS_PER_MINUTE: integer({
    meaning: 'How many transactions that are not found the clients of one network may report in a minute',
    default: 120,
    min: 1,
  }),
  PAYMENT_PAGE_URL: url({
    meaning:
      'Page on which a wallet is topped up, told with every 402; `{address}` in it becomes the wallet. Without it the account page of the console of this process, else a card checkout of this service',
    default: undefined,
  }),
  LEDGER_CHECK_INTERVAL_MS: milliseconds({
    meaning: 'How often the ledger proves to itself that it adds up; 0 = never',
    default: 3_600_000,
  }),
};
