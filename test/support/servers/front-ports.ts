/** What the files in deploy/ name, and where it is in a test. */

export interface FrontPlaces {
  /** In place of `example.org`. */
  readonly domain: string;
  /** Of TLS. */
  readonly port: number;
  /** Of each service, by the port that it has by default. */
  readonly servicePorts: Readonly<Record<number, string>>;
  /** Folder with fullchain.pem and privkey.pem. */
  readonly certificates: string;
}

/** The text of a proxy's configuration with the places of a test in it, and nothing else changed. */
export function withPlaces(text: string, { domain, servicePorts, certificates }: FrontPlaces): string {
  let changed = text
    .replaceAll('example\\.org', domain.replaceAll('.', '\\.'))
    .replaceAll('/etc/letsencrypt/live/example.org', certificates)
    .replaceAll('example.org', domain);
  for (const [usual, address] of Object.entries(servicePorts)) {
    changed = changed.replaceAll(`127.0.0.1:${usual}`, address);
  }
  return changed;
}
