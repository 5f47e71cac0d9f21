/** `turnpike index`: builds, publishes, lists and verifies index files. */

import { parseArgs } from 'node:util';
import { request } from 'undici';
import { type Config, readProcessConfig } from '../../config/config.ts';
import { FormatError } from '../../formats/format-error.ts';
import { buildBands } from '../../gateway/indexes/bands/build.ts';
import { readBounded } from '../../gateway/indexes/files.ts';
import { indexFolders } from '../../gateway/indexes/folders.ts';
import { readSubscriptions, Subscriber, subscriberSettings } from '../../gateway/indexes/index.ts';
import {
  maxDocumentBytes,
  type VerifiedPublication,
  verifyPublication,
} from '../../gateway/indexes/publication/document.ts';
import { publisherOf, readObserver } from '../../gateway/indexes/publication/open.ts';
import { gatewayMigrations } from '../../gateway/migrations.ts';
import { StartupError } from '../../kernel/errors.ts';
import { createLogger } from '../../kernel/log.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import { type Command, UsageError } from '../command.ts';
import { ProgressBar } from '../progress-bar.ts';

export const index: Command = {
  usage: `turnpike index build            make index files of what the gateway has indexed; only what changed
turnpike index publish          sign the list of them; a gateway on the same DATA_DIR serves it at once
turnpike index subscribe        look once at the publications of INDEX_SUBSCRIBE and install what is new
turnpike index list             show what is published here
turnpike index verify [<url>]   check a gateway's publication; without an address the one on this disk

  --from <height> --to <height>  with build: only bands that cover these heights
  --key <address>                with verify: the observer key that must have signed it
  --json                         for machines`,
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      options: {
        json: { type: 'boolean' },
        from: { type: 'string' },
        to: { type: 'string' },
        key: { type: 'string' },
      },
      allowPositionals: true,
    });
    const [action, subject, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const config = readProcessConfig();
    const json = values.json === true;
    switch (action) {
      case 'build':
        return build(config, height(values.from, 'from'), height(values.to, 'to'), json);
      case 'publish':
        return publish(config, json);
      case 'subscribe':
        return subscribe(config, json);
      case 'list':
        return show(await stored(config), json);
      case 'verify':
        return check(subject === undefined ? await stored(config) : await fetched(subject), values.key, json);
      default:
        throw new UsageError(`there is no "index ${action ?? ''}"`);
    }
  },
};

async function build(
  config: Config,
  from: number | undefined,
  to: number | undefined,
  json: boolean,
): Promise<number> {
  const sql = await openDatabase({
    databaseUrl: config.DATABASE_URL,
    dataDir: config.DATA_DIR,
    name: 'gateway',
    migrations: gatewayMigrations,
  });
  let bar: ProgressBar | undefined;
  try {
    const observer = await readObserver(config.DATA_DIR);
    const report = await buildBands({
      sql,
      published: indexFolders(config.DATA_DIR).published,
      bandHeights: config.INDEX_BAND_HEIGHTS,
      publisher: config.INDEX_PUBLISHER_WALLET ?? observer.address,
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      onProgress: (done, total) => {
        bar ??= new ProgressBar('items', total);
        bar.moveTo(done);
        if (done < total) return;
        bar.end();
        bar = undefined;
      },
    });
    if (json) console.log(JSON.stringify(report));
    else {
      for (const { id, records } of report.built) console.log(`built ${id}: ${records} items`);
      console.log(`${report.built.length} bands built, ${report.kept} unchanged`);
    }
    return 0;
  } finally {
    bar?.end();
    await sql.close();
  }
}

async function publish(config: Config, json: boolean): Promise<number> {
  const observer = await readObserver(config.DATA_DIR);
  const publisher = publisherOf(config, observer, {
    onFile: (name, size) => {
      if (!json && process.stderr.isTTY) console.error(`hashing ${name} (${size} bytes)`);
    },
  });
  const report = await publisher.publish();
  if (json) console.log(JSON.stringify(report));
  else {
    const { published, sequence, bands, files } = report;
    console.log(
      `${published ? 'published' : 'unchanged'}: sequence ${sequence}, ${bands} bands, ${files} files, signed by ${observer.address}`,
    );
  }
  return 0;
}

async function subscribe(config: Config, json: boolean): Promise<number> {
  const subscriptions = readSubscriptions(config.INDEX_SUBSCRIBE);
  if (subscriptions.length === 0) throw new StartupError('INDEX_SUBSCRIBE names no publisher');
  const subscriber = new Subscriber({
    ...subscriberSettings(config),
    log: createLogger({ name: 'index', level: 'silent', format: 'pretty' }),
    // A gateway on the same data sees for itself what came and went.
    changed: async () => {},
  });
  let failed = 0;
  try {
    for (const subscription of subscriptions) {
      const report = await subscriber.poll(subscription);
      const { publisher, outcome, installed, retired, reason = '' } = report;
      if (outcome !== 'installed' && outcome !== 'unchanged') failed += 1;
      if (json) console.log(JSON.stringify(report));
      else
        console.log(
          `${publisher}: ${outcome}, ${installed.length} bands installed, ${retired.length} retired ${reason}`.trimEnd(),
        );
    }
  } finally {
    await subscriber.close();
  }
  return failed === 0 ? 0 : 1;
}

function show(bytes: Buffer, json: boolean): number {
  const publication = verified(bytes);
  if (json) {
    console.log(JSON.stringify(publication));
    return 0;
  }
  console.log(
    `sequence ${publication.sequence}, issued ${publication.issuedAt}, expires ${publication.expiresAt}`,
  );
  for (const { name, kind, bands } of publication.indexes) {
    console.log(`${name} (${kind})`);
    for (const { id, files, heightRange, records, torrent } of bands) {
      const size = files.reduce((sum, file) => sum + file.size, 0);
      const heights =
        heightRange === undefined ? '' : `heights ${heightRange[0]}–${heightRange[1] ?? 'tip'}, `;
      console.log(`  ${id}: ${heights}${records ?? '?'} items, ${files.length} files, ${size} bytes`);
      if (torrent !== undefined) console.log(`    ${torrent.magnet}`);
    }
  }
  return 0;
}

function check(bytes: Buffer, key: string | undefined, json: boolean): number {
  const { keyId, sequence, expiresAt } = verified(bytes);
  const expired = Date.parse(expiresAt) < Date.now();
  const ok = !expired && (key === undefined || key === keyId);
  if (json) console.log(JSON.stringify({ ok, keyId, sequence, expiresAt, expired }));
  else {
    console.log(`signed by ${keyId}, sequence ${sequence}, ${expired ? 'EXPIRED' : 'expires'} ${expiresAt}`);
    if (key !== undefined && key !== keyId) console.log(`NOT signed by ${key}`);
  }
  return ok ? 0 : 1;
}

function verified(bytes: Buffer): VerifiedPublication {
  try {
    return verifyPublication(bytes);
  } catch (error) {
    if (error instanceof FormatError) throw new StartupError(`the publication is wrong: ${error.message}`);
    throw error;
  }
}

async function stored(config: Config): Promise<Buffer> {
  const bytes = await readBounded(indexFolders(config.DATA_DIR).document, maxDocumentBytes);
  if (bytes === undefined) throw new StartupError('nothing is published here: run "turnpike index publish"');
  return bytes;
}

async function fetched(address: string): Promise<Buffer> {
  if (!URL.canParse(address)) throw new UsageError(`${address} is not an address`);
  const answer = await request(`${address.replace(/\/+$/, '')}/gw/indexes`, {
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of answer.body) {
    size += piece.length;
    if (size > maxDocumentBytes) throw new StartupError(`${address} sends more than a publication`);
    pieces.push(piece);
  }
  if (answer.statusCode !== 200) throw new StartupError(`${address} answers ${answer.statusCode}`);
  return Buffer.concat(pieces);
}

function height(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,10}$/.test(text)) throw new UsageError(`--${name} must be a height`);
  return Number(text);
}
