/**
 * The service as the outside sees it: names resolved by the system or by a DNS server that is named, HTTP and TLS to what
 * they lead to.
 */
import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { checkServerIdentity, connect, type PeerCertificate } from 'node:tls';
import { messageOf } from '../../kernel/errors.ts';
import { HttpClient } from '../../outside/http.ts';

const askMs = 10_000;
/** Enough for a page or a picture; what is larger is not compared to its end. */
export const maxContentBytes = 16 * 1024 * 1024;

export interface ShownCertificate {
  readonly certificate: PeerCertificate;
  /** Why it is not to be trusted, as OpenSSL names it; undefined where it is. */
  readonly distrust: string | undefined;
  /** `h2` or `http/1.1`. */
  readonly protocol: string;
  /** Whether it names the host. */
  names(host: string): boolean;
}

export interface View {
  readonly http: HttpClient;
  /** Addresses of a host; none where there is no such host. */
  addresses(host: string): Promise<readonly string[]>;
  /** What a server shows to whoever asks for that host. */
  certificate(host: string, port: number): Promise<ShownCertificate>;
  close(): Promise<void>;
}

export interface ViewOptions {
  /** `address` or `address:port`; without it the system's own resolver. */
  readonly dnsServer: string | undefined;
}

export function createView({ dnsServer }: ViewOptions): View {
  const resolver = dnsServer === undefined ? undefined : new Resolver({ timeout: 3_000, tries: 2 });
  if (dnsServer !== undefined) resolver?.setServers([dnsServer]);

  async function addresses(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host];
    if (resolver === undefined) {
      return absentAsNone(
        systemLookup(host, { all: true }).then((found) => found.map(({ address }) => address)),
      );
    }
    const found = await Promise.all([
      absentAsNone(resolver.resolve4(host)),
      absentAsNone(resolver.resolve6(host)),
    ]);
    return found.flat();
  }

  const lookup: LookupFunction = (host, options, done) => {
    addresses(host).then(
      (found) => {
        const all = found.map((address) => ({ address, family: isIP(address) }));
        const [first] = all;
        if (first === undefined)
          done(Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' }), '');
        else if (options.all === true) done(null, all);
        else done(null, first.address, first.family);
      },
      (error: unknown) => done(error instanceof Error ? error : new Error(messageOf(error)), ''),
    );
  };
  const http = new HttpClient({ timeoutMs: askMs, maxBytes: maxContentBytes, lookup });

  return {
    http,
    addresses,
    certificate: (host, port) =>
      new Promise((found, failed) => {
        const socket = connect({
          host,
          port,
          lookup,
          ...(isIP(host) === 0 && { servername: host }),
          ALPNProtocols: ['h2', 'http/1.1'],
          // What it shows is wanted also where it is not to be trusted.
          rejectUnauthorized: false,
        });
        socket.setTimeout(askMs, () => socket.destroy(new Error(`no answer within ${askMs / 1000} seconds`)));
        socket.on('error', failed);
        socket.on('secureConnect', () => {
          const certificate = socket.getPeerCertificate(true);
          const reason = socket.authorizationError;
          found({
            certificate,
            distrust: socket.authorized
              ? undefined
              : String(reason instanceof Error ? reason.message : reason),
            protocol: socket.alpnProtocol || 'http/1.1',
            names: (name) => checkServerIdentity(name, certificate) === undefined,
          });
          socket.destroy();
        });
      }),
    close: () => http.close(),
  };
}

/** A name that is not there is no failure. */
async function absentAsNone(asked: Promise<string[]>): Promise<string[]> {
  try {
    return await asked;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EAI_NONAME') return [];
    throw error;
  }
}
