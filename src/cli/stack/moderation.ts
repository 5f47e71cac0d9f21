/**
 * One moderation for the stack: router and upload service obey the gateway's block list, in one process by asking it,
 * else by following the gateway that is named.
 */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { FollowedBlocklist } from '../../delivery/moderation/blocklist.ts';
import { BlocklistFollower } from '../../delivery/moderation/follower.ts';
import type { GatewaySurface } from '../../gateway/surface.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import type { ServiceKeys } from './service-keys.ts';

export interface StackModeration extends Surface {
  /** What a surface of this process has to obey; undefined where nobody tells it. */
  listFor(surface: string): FollowedBlocklist | undefined;
}

export interface StackModerationOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly keys: ServiceKeys;
  /** The surfaces that run in this process. */
  readonly surfaces: readonly string[];
  /** The gateway of this process, once it runs. */
  readonly gateway: () => GatewaySurface | undefined;
}

const obeying = ['router', 'upload'];

/** Started before the surfaces that obey it, and stopped after them. */
export function createStackModeration(options: StackModerationOptions): StackModeration {
  const { config, log, keys, surfaces, gateway } = options;
  const followers = surfaces.filter((name) => obeying.includes(name));
  const hasGateway = surfaces.includes('gateway');
  let follower: BlocklistFollower | undefined;
  return {
    name: 'moderation',
    url: '',
    async start() {
      if (hasGateway || followers.length === 0) return;
      const url = config.MODERATION_FOLLOW_URL;
      if (url === undefined) {
        log.info(
          { surfaces: followers },
          'no gateway is followed: what is blocked there is not blocked here',
        );
        return;
      }
      follower = new BlocklistFollower({
        url: url.replace(/\/+$/, ''),
        key: config.MODERATION_FOLLOW_KEY ?? (await keys.adminKey()),
        path: join(config.DATA_DIR, `followed-blocklist-${followers.join('-')}.json`),
        everyMs: config.MODERATION_FOLLOW_INTERVAL_MS,
        surfaces: followers,
        log,
      });
      await follower.start();
    },
    listFor: (surface) => (hasGateway ? gateway()?.blocklistFor(surface) : follower),
    drain: async () => true,
    stop: async () => follower?.stop(),
  };
}
