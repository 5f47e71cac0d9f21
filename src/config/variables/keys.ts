import { secret, text } from '../kinds.ts';

/** Keys of the service. Each is made under DATA_DIR/keys on first start when it is not given. */
export const keys = {
  SERVICE_WALLET_FILE: text({
    meaning: 'Arweave wallet (JWK file, 4096 bits) that signs receipts and pays for bundles',
    default: undefined,
  }),
  ADMIN_API_KEY: secret({ meaning: 'Key of the gateway’s admin routes, sent as `Authorization: Bearer`' }),
  ADMIN_API_KEY_FILE: text({
    meaning: 'File that holds ADMIN_API_KEY; wins over the variable',
    default: undefined,
  }),
};
