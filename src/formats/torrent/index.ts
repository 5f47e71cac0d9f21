/** Torrent files: bencoding, hybrid torrents, and the name rule of published bands. */
export * from './bencode.ts';
export * from './hybrid.ts';
export * from './torrent-name.ts';
