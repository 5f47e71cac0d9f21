import { list, secret, text } from '../kinds.ts';

/** Keys of the service, each made under DATA_DIR/keys on first start when it is not given; and of who gives commands. */
export const keys = {
  SERVICE_WALLET_FILE: text({
    meaning: 'Arweave wallet (JWK file, 4096 bits) that pays for bundles and is paid in AR',
    default: undefined,
  }),
  FORMER_ARWEAVE_ADDRESSES: list({
    meaning: 'Arweave addresses of earlier wallets, at which payments in AR are still taken',
    default: [],
  }),
  RECEIPT_KEY_FILE: text({
    meaning: 'RSA key (PEM or JWK, 4096 bits) that signs receipts; the same for all processes of one service',
    default: undefined,
  }),
  DATA_KEY_FILE: text({
    meaning: 'RSA key (PEM or JWK, 4096 bits) that signs data which came unsigned with an x402 payment',
    default: undefined,
  }),
  OBSERVER_KEY_FILE: text({
    meaning:
      'Ed25519 key (PEM) that signs published indexes and, where HTTPSIG_ENABLED, answers; the same for all processes of one gateway',
    default: undefined,
  }),
  ADMIN_API_KEY: secret({ meaning: 'Key of the gateway’s admin routes, sent as `Authorization: Bearer`' }),
  TURNPIKE_WALLET: secret({
    meaning:
      'Key that commands pay with where `--wallet` names no file: the text of a JWK (also in base64), 64 hex digits of an Ethereum key, or a Solana key',
  }),
  TURNPIKE_OWNER: secret({
    meaning: 'Solana key that owns names, for commands where `--owner` names no file',
  }),
};
