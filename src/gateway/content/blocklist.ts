import type { Blocklist as CommonBlocklist } from '../../delivery/moderation/blocklist.ts';
import type { Located } from '../chain-index/gateway-index.ts';

/**
 * What this gateway does not serve. The content side asks before every answer; who keeps the list (the admin part)
 * changes it here, and the change holds from the next request on.
 */
export interface Blocklist extends CommonBlocklist {
  /**
   * Before bytes of a bundle leave that may not have been unbundled yet: reads its list of items where that may tell of
   * blocked ones. `located` is what the index has of it. undefined where there is nothing to wait for.
   */
  lookInto(id: string, located: Located | undefined): Promise<void> | undefined;
}
