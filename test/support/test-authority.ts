/** A certificate authority of a test's own, for hosts below `.test`. */
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { issueAuthority, issueServer } from '../../src/kernel/tls/certificate.ts';

const dayMs = 24 * 3_600_000;
const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

export interface TestAuthority {
  /** To be trusted, as PEM. */
  readonly pem: string;
  /** A server's certificate and key as PEM; `days` from now until it ends, below 0 for one that has ended. */
  issue(hosts: readonly string[], days?: number): { readonly cert: string; readonly key: string };
}

export function createTestAuthority(name = 'Test authority'): TestAuthority {
  const authorityKey = newKey();
  const [from, until] = [Date.now() - 100 * dayMs, Date.now() + 100 * dayMs];
  const pem = issueAuthority({ name, key: authorityKey, domains: ['test'], networks: [], from, until });
  const authority = { certificate: new X509Certificate(pem), name, key: authorityKey };
  return {
    pem,
    issue(hosts, days = 60) {
      const key = newKey();
      const cert = issueServer({ authority, key, hosts, from, until: Date.now() + days * dayMs });
      return { cert, key: key.export({ format: 'pem', type: 'pkcs8' }).toString() };
    },
  };
}
