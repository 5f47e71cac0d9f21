/** `turnpike index`: builds, publishes, lists and verifies index files. */

import { type Config, readProcessConfig } from '../../config/config.ts';
import { gatewayMigrations } from '../../gateway/migrations.ts';
import { buildBands, refusalText } from '../../gateway/published-indexes/bands/build.ts';
import { indexFolders } from '../../gateway/published-indexes/folders.ts';
import { readObserver } from '../../gateway/published-indexes/publication/observer.ts';
import { publisherOf } from '../../gateway/published-indexes/publication/publisher.ts';
import {
  type PollReport,
  Subscriber,
  subscriberSettings,
} from '../../gateway/published-indexes/subscriber/subscriber.ts';
import { readSubscriptions } from '../../gateway/published-indexes/subscriber/subscriptions.ts';
import { StartupError } from '../../kernel/errors.ts';
import { createLogger } from '../../kernel/log.ts';
import { databaseSettings, openDatabase } from '../../storage/sql/open.ts';
import { type Command, readArguments, UsageError } from '../command.ts';
import { ProgressBar } from '../progress-bar.ts';
import { readSigned, storedDocument, verifyIndexes } from './index-verify.ts';

export const index: Command = {
  usage: `turnpike index build            make index files of what the gateway has indexed; only what changed
turnpike index publish          sign the list of them; a gateway on the same DATA_DIR serves it at once
turnpike index subscribe        look once at the publications of INDEX_SUBSCRIBE and install what is new
turnpike index list             show what is published here
turnpike index verify [<url>]   check a gateway's publication; without an address the one on this disk, with its files

  --from <height> --to <height>  with build: only bands that cover these heights
  --allow-fewer                  with build: also bands that lose records which the ones before them have
  --key <address>                with verify: the observer key that must have signed it
  --files                        with verify and an address: download and check every file too
  --json                         for machines`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: {
        json: { type: 'boolean' },
        from: { type: 'string' },
        to: { type: 'string' },
        'allow-fewer': { type: 'boolean' },
        key: { type: 'string' },
        files: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [action, subject, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const config = readProcessConfig();
    const json = values.json === true;
    switch (action) {
      case 'build':
        return build(config, {
          from: height(values.from, 'from'),
          to: height(values.to, 'to'),
          allowFewer: values['allow-fewer'] === true,
          json,
        });
      case 'publish':
        return publish(config, json);
      case 'subscribe':
        return subscribe(config, json);
      case 'list':
        return show(await storedDocument(config), json);
      case 'verify':
        return verifyIndexes(config, { url: subject, key: values.key, files: values.files === true, json });
      default:
        throw new UsageError(`there is no "index ${action ?? ''}"`);
    }
  },
};

interface BuildChoices {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly allowFewer: boolean;
  readonly json: boolean;
}

async function build(config: Config, { from, to, allowFewer, json }: BuildChoices): Promise<number> {
  const sql = await openDatabase({
    ...databaseSettings(config, 'gateway'),
    dataDir: config.DATA_DIR,
    name: 'gateway',
    migrations: gatewayMigrations,
  });
  let bar: ProgressBar | undefined;
  try {
    const observer = await readObserver(config);
    const report = await buildBands({
      sql,
      published: indexFolders(config.DATA_DIR).published,
      bandHeights: config.INDEX_BAND_HEIGHTS,
      publisher: config.INDEX_PUBLISHER_WALLET ?? observer.address,
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      allowFewer,
      onProgress: (done, total) => {
        if (total === 0) return;
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
      for (const band of report.refused) console.error(refusalText(band));
      console.log(
        `${report.built.length} bands built, ${report.kept} unchanged, ${report.refused.length} refused`,
      );
    }
    return report.refused.length === 0 ? 0 : 1;
  } finally {
    bar?.end();
    await sql.close();
  }
}

async function publish(config: Config, json: boolean): Promise<number> {
  const observer = await readObserver(config);
  let bar: ProgressBar | undefined;
  const publisher = publisherOf(config, observer, {
    onProgress: (done, total) => {
      if (total === 0) return;
      bar ??= new ProgressBar('hashing', total);
      bar.moveTo(done);
    },
  });
  const report = await publisher.publish().finally(() => bar?.end());
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
  let bar: ProgressBar | undefined;
  const subscriber = new Subscriber({
    ...subscriberSettings(config),
    log: createLogger({ name: 'index', level: 'silent', format: 'pretty' }),
    expected: (bytes) => {
      bar = bytes === 0 ? undefined : new ProgressBar('bytes', bytes);
    },
    received: (_from, bytes) => bar?.advance(bytes),
    // A gateway on the same data sees for itself what came and went.
    changed: async () => {},
  });
  let failed = 0;
  try {
    for (const subscription of subscriptions) {
      const report = await subscriber.poll(subscription).finally(() => bar?.end());
      const { publisher, outcome, installed, retired, bytes, reason = '' } = report;
      if (outcome !== 'installed' && outcome !== 'unchanged') failed += 1;
      if (json) console.log(JSON.stringify(report));
      else
        console.log(
          `${publisher}: ${outcome}, ${installed.length} bands installed, ${retired.length} retired, ${came(bytes)} ${reason}`.trimEnd(),
        );
    }
  } finally {
    await subscriber.close();
  }
  return failed === 0 ? 0 : 1;
}

/** `1234 bytes by http, 99 by peers`. */
function came(bytes: PollReport['bytes']): string {
  const parts = Object.entries(bytes).filter(([, count]) => count > 0);
  return parts.length === 0
    ? '0 bytes'
    : parts.map(([from, count], at) => `${count}${at === 0 ? ' bytes' : ''} by ${from}`).join(', ');
}

function show(bytes: Buffer, json: boolean): number {
  const publication = readSigned(bytes);
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

function height(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,10}$/.test(text)) throw new UsageError(`--${name} must be a height`);
  return Number(text);
}
