/**
 * Content: the bytes of transactions and data items, by id, by manifest path, by name.
 *
 * - `content.ts`    what is known about an id, and its bytes wherever they are
 * - `sources/`      where bytes come from when they are not in the cache, in order of preference
 * - `shared/`       copies that gateways keep together in one store
 * - `opened.ts`     content that is open: in memory, in a file, or as it arrives
 * - `fill.ts`       one fetch for all who want the same id: into the cache and to every reader at once
 * - `manifests.ts`  paths inside a manifest
 * - `names/`        names on subdomains, sandboxes, the apex
 * - `answer/`       status, headers and body of an answer (RFC 9110, RFC 9530)
 * - `routes.ts`     `/{id}`, `/raw/{id}`, frames, the resolver
 */
export { namesOfRegistry } from './names/registry-names.ts';
export { type ContentPartDeps, createContentPart, openContentCache, openSharedStore } from './part.ts';
