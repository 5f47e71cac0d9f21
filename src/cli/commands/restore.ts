import { basename, resolve } from 'node:path';
import { readProcessConfig } from '../../config/config.ts';
import { makeFilesPrivate } from '../../kernel/private-files.ts';
import { openBackupPlace } from '../../storage/backup/place.ts';
import { readPassphrase } from '../../storage/backup/sealed-keys.ts';
import { findBackup } from '../backup/check.ts';
import { keysChoice, placeOf } from '../backup/place-argument.ts';
import { restoreBackup } from '../backup/restore.ts';
import { showSteps } from '../backup/steps.ts';
import { type Command, printResult, readArguments, UsageError } from '../command.ts';

export const restore: Command = {
  usage: `turnpike restore [place] --keys <file> | --no-keys [--backup <id>]

Puts a backup where DATA_DIR, DATABASE_URL and BLOB_STORE_URL say. DATA_DIR has to be empty and the PostgreSQL without our
schemas; a restore that was cut off is run again. Every byte is compared with its digest, every table with its rows, and
the ledger has to add up. Then "turnpike reconcile --dry-run" tells what happened outside since the backup.

  place          a folder, s3://key:secret@host:port/bucket/prefix, or what BACKUP_URL says
  --keys <file>  the passphrase that the keys were sealed with, in the first line of that file
  --no-keys      do not restore keys: put them in place by hand before the start
  --backup <id>  that one, not the newest
  --quiet        do not tell what is done
  --json         for machines`,
  async run(args) {
    makeFilesPrivate();
    const { values, positionals } = readArguments({
      args,
      options: {
        keys: { type: 'string' },
        'no-keys': { type: 'boolean' },
        backup: { type: 'string' },
        quiet: { type: 'boolean' },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [source, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const read = readProcessConfig();
    const config = { ...read, DATA_DIR: resolve(read.DATA_DIR) };
    const passphraseFile = keysChoice(values);
    const passphrase = passphraseFile === undefined ? undefined : readPassphrase(passphraseFile);
    const place = await openBackupPlace(placeOf(source, config), false);
    const steps = showSteps(values.quiet === true || values.json === true);
    try {
      const manifest = await findBackup(place, values.backup);
      const restored = await restoreBackup(config, place, manifest, { passphrase, step: steps.step });
      const { ledger, givenKeys } = restored;
      steps.end();
      const books =
        ledger === undefined
          ? ''
          : `: ${ledger.accounts} accounts, ${ledger.entries} entries, the ledger adds up`;
      const lines = [
        `restored backup ${manifest.id} of ${new Date(manifest.begunAt).toISOString()}${books}`,
        ...(manifest.blobs === undefined
          ? ['stored uploads were not in it: BLOB_STORE_URL must have them']
          : []),
        ...givenKeys.map(
          (path) =>
            `${basename(path)} was given by the settings: put ${path} where they say, or name it there`,
        ),
        'next: turnpike reconcile --dry-run',
      ];
      const result = {
        backup: manifest.id,
        accounts: ledger?.accounts ?? null,
        entries: ledger?.entries ?? null,
        givenKeys,
      };
      printResult(values.json, result, lines.join('\n'));
      return 0;
    } finally {
      steps.end();
      await place.close();
    }
  },
};
