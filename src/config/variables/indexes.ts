import { boolean, integer, text, url } from '../kinds.ts';

/** Published indexes: what this gateway publishes of its own, and whose it uses. */
export const indexes = {
  INDEX_BAND_HEIGHTS: integer({
    meaning: 'Heights that one closed band of the published index covers',
    default: 50_000,
    min: 1,
  }),
  INDEX_PUBLISHER_WALLET: text({
    meaning:
      'Registered wallet of the gateway (base58) named in publications; without it the observer key itself',
    default: undefined,
  }),
  INDEX_PUBLISH_TTL_SECONDS: integer({
    meaning: 'Life of a publication; it is signed anew at half of it',
    default: 86_400,
    min: 60,
  }),
  INDEX_PUBLISH_SCAN_INTERVAL_SECONDS: integer({
    meaning: 'How often a gateway that publishes looks whether to publish anew',
    default: 60,
    min: 1,
    max: 86_400,
  }),
  INDEX_BUILD_INTERVAL_SECONDS: integer({
    meaning: 'How often a gateway that publishes builds its index anew; 0 = only by `turnpike index build`',
    default: 0,
    max: 31_536_000,
  }),
  INDEX_TORRENTS: boolean({ meaning: 'Whether bands are offered as torrents too', default: true }),
  INDEX_PUBLIC_URL: url({
    meaning: 'Address of the gateway for the web seeds of its torrents; without it HOST and GATEWAY_PORT',
    default: undefined,
  }),
};
