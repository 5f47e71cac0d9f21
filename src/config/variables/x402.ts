import { boolean, fraction, integer, json, list, milliseconds, secret, text, url } from '../kinds.ts';

/** Payments with x402: signed dollar transfers that a facilitator carries out. */
export const x402 = {
  X402_ENABLED: boolean({ meaning: 'Whether x402 payments are taken', default: true }),
  X402_FACILITATOR_URL: url({
    meaning:
      'Facilitator that verifies and settles; without it the local one is started and used, in the world `local`',
    default: undefined,
  }),
  X402_FACILITATOR_TOKEN: secret({ meaning: 'Bearer token for the facilitator, where it wants one' }),
  X402_PAYMENT_ADDRESS: text({
    meaning: 'Ethereum address that is paid; needed with X402_FACILITATOR_URL',
    default: undefined,
  }),
  X402_NETWORKS: list({
    meaning: 'Chains to be paid on, the preferred first: base, base-sepolia, polygon, polygon-amoy, ethereum',
    default: ['base-sepolia'],
    inWorlds: { public: ['base'] },
  }),
  X402_RPC_URLS: json<Readonly<Record<string, string>>>({
    meaning:
      'JSON-RPC address per chain, `{"base": "https://…"}`, several of one separated by commas: used to find out what became of a payment whose settlement was cut off, and to ask contract wallets about their signatures',
    default: {},
    check: checkUrls,
  }),
  X402_PAYMENT_TIMEOUT_MS: milliseconds({
    meaning:
      'How long a payer may take between signing and settlement, and how long an asked price is remembered',
    default: 300_000,
    min: 10_000,
    max: 86_400_000,
  }),
  X402_MINIMUM_PAYMENT_USDC: integer({
    meaning: 'Smallest payment, in millionths of a dollar',
    default: 1_000,
    min: 1,
    max: 1_000_000_000,
  }),
  X402_PRICE_TOLERANCE: fraction({
    meaning:
      'By how much the price may have risen since it was asked; the payer is credited what was paid, and less than was asked is refused',
    default: 0.05,
  }),
  X402_SETTLEMENT_BUFFER_SECONDS: integer({
    meaning: 'How long an authorisation must still be valid to be tried',
    default: 6,
    max: 3_600,
  }),
  X402_VERIFY_TIMEOUT_MS: milliseconds({
    meaning: 'How long the facilitator may take to verify',
    default: 10_000,
    min: 100,
  }),
  X402_SETTLE_TIMEOUT_MS: integer({
    meaning: 'How long the facilitator may take to settle',
    default: 60_000,
    min: 100,
  }),
};

function checkUrls(value: unknown): Readonly<Record<string, string>> {
  const wrong = new Error('must be an object of http URLs by network name');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong;
  const checked: Record<string, string> = {};
  for (const [network, address] of Object.entries(value)) {
    if (typeof address !== 'string') throw wrong;
    for (const one of address.split(',')) {
      if (!/^https?:\/\//.test(one.trim()) || !URL.canParse(one.trim())) throw wrong;
    }
    checked[network] = address;
  }
  return checked;
}
