/**
 * A small BitTorrent engine for published bands: peers over TCP (BEP 3), `info` from peers (BEP 9, BEP 10), HTTP
 * trackers (BEP 23) and web seeds (BEP 19). It knows bands and files on disk, nothing else of the gateway.
 *
 *   addresses.ts   whom it may talk to
 *   connection.ts  one connection: framing, time limits, back-pressure
 *   seeder.ts      gives the pieces of published bands; tracker.ts tells who else does
 *   board.ts       the pieces of one download on disk: which are there, which are asked for
 *   leecher.ts     one peer that pieces are asked of; web-seed.ts the publisher's own HTTP
 *   download.ts    one band from all of them; find-info.ts and announce.ts lead it there
 */
export { type BandDownload, downloadBand, type SwarmOptions } from './download.ts';
export { type Offer, Seeder } from './seeder.ts';
export { Tracker } from './tracker.ts';
