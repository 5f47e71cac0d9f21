/** The publisher that the configuration describes. */

import type { Config } from '../../../config/config.ts';
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { StartupError } from '../../../kernel/errors.ts';
import type { Observer } from './observer.ts';
import { Publisher, type PublisherOptions } from './publisher.ts';

export { type Observer, readObserver } from './observer.ts';

export function publisherOf(
  config: Config,
  observer: Observer,
  rest: Pick<PublisherOptions, 'onFile'> = {},
): Publisher {
  const wallet = config.INDEX_PUBLISHER_WALLET;
  if (wallet !== undefined && tryDecodeBase58(wallet)?.length !== 32)
    throw new StartupError('INDEX_PUBLISHER_WALLET must be base58 of 32 bytes');
  const publicUrl = config.INDEX_PUBLIC_URL ?? `http://${config.HOST}:${config.GATEWAY_PORT}`;
  return new Publisher({
    dataDir: config.DATA_DIR,
    observer,
    publisher: wallet,
    ttlSeconds: config.INDEX_PUBLISH_TTL_SECONDS,
    filter: JSON.parse(config.ANS104_UNBUNDLE_FILTER),
    torrents: config.INDEX_TORRENTS ? { publicUrl } : undefined,
    ...rest,
  });
}
