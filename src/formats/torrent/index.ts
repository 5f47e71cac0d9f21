/** Torrents: bencoding, hybrid torrent files and the name rule of published bands, and what peers say on the wire. */
export * from './bdecode.ts';
export * from './bencode.ts';
export * from './extension.ts';
export * from './hybrid.ts';
export * from './metainfo.ts';
export * from './peer-wire.ts';
export * from './torrent-name.ts';
export * from './tracker-wire.ts';
