import { readProcessConfig } from '../../config/config.ts';
import { makeFilesPrivate } from '../../kernel/private-files.ts';
import type { Manifest } from '../../storage/backup/manifest.ts';
import { type BackupPlace, openBackupPlace } from '../../storage/backup/place.ts';
import { readPassphrase } from '../../storage/backup/sealed-keys.ts';
import { inBytes } from '../amounts.ts';
import { checkBackup, findBackup } from '../backup/check.ts';
import { makeBackup } from '../backup/make.ts';
import { keysChoice, placeOf } from '../backup/place-argument.ts';
import { pruneBackups } from '../backup/prune.ts';
import { showSteps } from '../backup/steps.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';

/** A backup that lacks what was damaged before it was made. */
const incompleteExit = 3;

export const backup: Command = {
  usage: `turnpike backup [place] --keys <file> | --no-keys   back up what DATA_DIR, DATABASE_URL and BLOB_STORE_URL name
turnpike backup [place] --check [--backup <id>]     read a backup to its end and prove it
turnpike backup [place] --list                      the backups that are there

The place is a folder, or s3://key:secret@host:port/bucket/prefix (s3s:// over TLS), or what BACKUP_URL says, which keeps
its secret out of the list of processes. The installation may run meanwhile. What an earlier backup has is not written again.

  --keys <file>  seal the keys of the service, and those that settings name or hold (SERVICE_WALLET_FILE and the like), with
                 the passphrase in the first line of that file
  --no-keys      leave them out: without them a restored service has another wallet
  --no-blobs     leave stored uploads out, where the store behind BLOB_STORE_URL is backed up by itself
  --keep <n>     afterwards remove all backups but the newest n
  --backup <id>  with --check: that one, not the newest
  --quiet        do not tell what is done
  --json         for machines

The exit code is 0 when everything is in the backup and was read back, 3 when stored uploads were missing or damaged before.`,
  async run(args) {
    makeFilesPrivate();
    const { values, positionals } = readArguments({
      args,
      options: {
        keys: { type: 'string' },
        'no-keys': { type: 'boolean' },
        'no-blobs': { type: 'boolean' },
        keep: { type: 'string' },
        check: { type: 'boolean' },
        list: { type: 'boolean' },
        backup: { type: 'string' },
        quiet: { type: 'boolean' },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [target, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const config = readProcessConfig();
    const isReading = values.check === true || values.list === true;
    const passphraseFile = isReading ? undefined : keysChoice(values);
    const keep = keepOf(values.keep);
    const passphrase = passphraseFile === undefined ? undefined : readPassphrase(passphraseFile);
    const place = await openBackupPlace(placeOf(target, config), !isReading);
    const steps = showSteps(values.quiet === true || values.json === true);
    try {
      if (values.list === true) return await listBackups(place, values.json === true);
      if (values.check === true) return await check(place, values.backup, steps.step, values.json === true);
      const made = await makeBackup(config, place, {
        ...{ passphrase, withBlobs: values['no-blobs'] !== true, step: steps.step },
      });
      steps.end();
      const removed = keep === undefined ? 0 : await pruneBackups(place, keep);
      printResult(values.json, { ...summary(made), removed }, `${describe(made)}${removedText(removed)}`);
      for (const digest of values.json === true ? [] : made.missing.slice(0, 10)) {
        console.log(`  missing or damaged in the store: blob ${digest}`);
      }
      return made.missing.length > 0 ? incompleteExit : 0;
    } finally {
      steps.end();
      await place.close();
    }
  },
};

function keepOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,4}$/.test(text)) throw new UsageError(`--keep takes a number from 1, not "${text}"`);
  return Number(text);
}

async function listBackups(place: BackupPlace, json: boolean): Promise<number> {
  const found: Manifest[] = [];
  for (const id of await place.list()) found.push(await findBackup(place, id));
  if (json) printJson(found.map(summary));
  else if (found.length === 0) console.log('there is no backup');
  for (const manifest of json ? [] : found) console.log(describe(manifest));
  return 0;
}

async function check(
  place: BackupPlace,
  id: string | undefined,
  step: Parameters<typeof checkBackup>[2],
  json: boolean,
): Promise<number> {
  const manifest = await findBackup(place, id);
  await checkBackup(place, manifest, step);
  printResult(
    json,
    { ...summary(manifest), ok: true },
    `${describe(manifest)}\nit is whole, and its ledger adds up`,
  );
  return manifest.missing.length > 0 ? incompleteExit : 0;
}

const summary = ({
  id,
  version,
  world,
  begunAt,
  endedAt,
  databases,
  blobs,
  missing,
  files,
  keys,
}: Manifest) => ({
  ...{ id, version, world, begunAt, endedAt },
  databases: databases.map(({ name, engine, rows }) => ({ name, engine, rows: sumOf(rows) })),
  blobs: blobs === undefined ? null : { count: blobs.count, bytes: blobs.bytes },
  ...{ missing, files: files.length, keys: keys !== undefined },
});

const sumOf = (rows: Readonly<Record<string, number>>): number =>
  Object.values(rows).reduce((sum, count) => sum + count, 0);

function describe({ id, begunAt, databases, blobs, missing, keys }: Manifest): string {
  const rows = databases.map((database) => `${database.name} ${sumOf(database.rows)} rows`).join(', ');
  const stored =
    blobs === undefined ? 'no stored uploads' : `${blobs.count} stored uploads of ${inBytes(blobs.bytes)}`;
  const sealed = keys === undefined ? 'no keys' : 'keys sealed';
  const lacking = missing.length === 0 ? '' : `; ${missing.length} stored uploads are MISSING`;
  return `backup ${id} of ${new Date(begunAt).toISOString()}: ${rows}; ${stored}; ${sealed}${lacking}`;
}

const removedText = (count: number): string =>
  count === 0 ? '' : `\nremoved ${count} older ${count === 1 ? 'backup' : 'backups'}`;
