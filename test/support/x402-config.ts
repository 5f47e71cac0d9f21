/** x402 as tests configure it: one network, and time limits that a busy machine keeps. */
export const x402TestConfig = {
  X402_FACILITATOR_TOKEN: undefined,
  X402_NETWORKS: ['base-sepolia'],
  X402_PAYMENT_TIMEOUT_MS: 300_000,
  X402_MINIMUM_PAYMENT_USDC: 1_000,
  X402_PRICE_TOLERANCE: 0.05,
  X402_SETTLEMENT_BUFFER_SECONDS: 6,
  X402_VERIFY_TIMEOUT_MS: 60_000,
  X402_SETTLE_TIMEOUT_MS: 60_000,
};
