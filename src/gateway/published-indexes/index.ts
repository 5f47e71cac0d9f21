/**
 * Published indexes (interface §2 "Index publication", §4.4 "Published index routes"): this gateway's index as
 * files that others can check and use.
 *
 *   bands/        the files of an index by height range: built from the gateway's own index, described, looked into
 *   publication/  the signed document: its shape, its signature, and how a new one is published
 *   routes/       what is served of it
 *   subscriber/   other gateways' publications: followed, downloaded, checked, used
 *   swarm/        BitTorrent: bands given to peers, and taken from them
 *
 * It may call the gateway's index and its chunks; nothing of it is needed to serve content.
 */
export { type BuildReport, buildBands } from './bands/build.ts';
export { createIndexesPart } from './part.ts';
export { type Observer, readObserver } from './publication/observer.ts';
export { Publisher } from './publication/publisher.ts';
export { placeInRoot, subscribedContent } from './subscriber/content.ts';
export { InstalledBands, openSubscribedBands, type SubscribedPlace } from './subscriber/installed.ts';
export { subscriberSettings } from './subscriber/settings.ts';
export { type PollReport, Subscriber } from './subscriber/subscriber.ts';
export { readSubscriptions, type Subscription } from './subscriber/subscriptions.ts';
