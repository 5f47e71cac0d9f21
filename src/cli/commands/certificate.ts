/** The authority that a browser must trust once, so that it takes `https://` of this installation for what it is. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { readProcessConfig } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { makeFilesPrivate } from '../../kernel/private-files.ts';
import type { LocalAuthority } from '../../kernel/tls/local-authority.ts';
import { openAuthority } from '../../kernel/tls/tls-keys.ts';
import { type Command, readArguments } from '../command.ts';

export const certificate: Command = {
  usage: `turnpike certificate [--json]

  --json  print path, fingerprint and key hash as one line of JSON

The ports of the local network answer https:// and HTTP/2 too (LOCAL_TLS), with certificates of an authority in
DATA_DIR/tls. Browsers take them once the authority is trusted; it can sign for nothing but hosts of private networks.`,
  async run(args) {
    const { values } = readArguments({ args, options: { json: { type: 'boolean' } } });
    const config = readProcessConfig();
    if (config.TLS_CERTIFICATE_FILE !== undefined) {
      throw new StartupError(`TLS_CERTIFICATE_FILE is set: ${resolve(config.TLS_CERTIFICATE_FILE)} is used`);
    }
    if (!config.LOCAL_TLS) throw new StartupError('LOCAL_TLS is false: only plain HTTP is answered');
    makeFilesPrivate();
    const facts = factsOf(await openAuthority(config));
    console.log(values.json === true ? JSON.stringify(facts) : explanation(facts));
    return 0;
  },
};

interface CertificateFacts {
  readonly path: string;
  /** SHA-256 of the authority's certificate, as browsers show it. */
  readonly fingerprint: string;
  readonly validTo: string;
  /** SHA-256 of the servers' public key, for `--ignore-certificate-errors-spki-list` of Chromium. */
  readonly serverKeyHash: string;
}

function factsOf({ path, certificate: authority, serverKey }: LocalAuthority): CertificateFacts {
  return {
    path: resolve(path),
    fingerprint: authority.fingerprint256,
    validTo: new Date(authority.validTo).toISOString(),
    serverKeyHash: keyHash(serverKey),
  };
}

function keyHash(key: KeyObject): string {
  const spki = createPublicKey(key.export({ format: 'pem', type: 'pkcs8' })).export({
    format: 'der',
    type: 'spki',
  });
  return createHash('sha256').update(spki).digest('base64');
}

const explanation = ({ path, fingerprint, validTo, serverKeyHash }: CertificateFacts): string =>
  `Authority    ${path}
SHA-256      ${fingerprint}
Valid until  ${validTo.slice(0, 10)}

Trust it once, by one of:
  Chrome on Linux  certutil -d sql:$HOME/.pki/nssdb -A -t "C,," -n turnpike -i "${path}"
  Firefox          Settings, Certificates, Authorities, Import
  macOS            security add-trusted-cert -k ~/Library/Keychains/login.keychain-db "${path}"
  Windows          certutil -user -addstore Root "${path}"
  Node.js          NODE_EXTRA_CA_CERTS="${path}"
  curl             curl --cacert "${path}" https://localhost:4000/info
  Tests, Chromium  --user-data-dir=<folder> --ignore-certificate-errors-spki-list=${serverKeyHash}

Or open one https:// address in the browser and accept the warning; that holds for the host until the browser closes.`;
