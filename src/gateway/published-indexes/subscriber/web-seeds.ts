/**
 * Further places where a publisher says its files are: the web seeds of the signed magnet (BEP 19). They are asked for
 * what the publisher itself did not give.
 */
import { torrentName } from '../../../formats/torrent/torrent.ts';
import { isPublicHost } from '../../../kernel/http/public-addresses.ts';
import type { Band } from '../publication/document.ts';

const maxWebSeeds = 4;

export interface WebSeed {
  /** Of the band: the name of a file is put behind it. */
  readonly base: string;
  /** It must not lead to an address inside, whatever its name resolves to. */
  readonly isPublic: boolean;
}

/**
 * A publisher at a public address may not name web seeds inside our network; one inside it may. The publisher's own
 * address is left out: it was asked already.
 */
export function webSeedsOf(band: Band, publisherUrl: string): WebSeed[] {
  const publisher = new URL(publisherUrl);
  const isPublic = isPublicHost(publisher.hostname);
  const magnet = new URLSearchParams(band.torrent?.magnet.replace(/^magnet:\?/, ''));
  return magnet
    .getAll('ws')
    .slice(0, maxWebSeeds)
    .flatMap((text) => {
      if (!URL.canParse(text)) return [];
      const { protocol, origin, username, hostname, pathname, search } = new URL(text);
      const isUsable =
        /^https?:$/.test(protocol) && username === '' && search === '' && pathname.endsWith('/');
      if (!isUsable || origin === publisher.origin || (isPublic && !isPublicHost(hostname))) return [];
      return [{ base: `${origin}${pathname}${torrentName(band.files)}/`, isPublic }];
    });
}
