/** Where backups are, as commands are told. */
import type { Config } from '../../config/config.ts';
import { UsageError } from '../command.ts';

export function placeOf(argument: string | undefined, { BACKUP_URL }: Pick<Config, 'BACKUP_URL'>): string {
  const target = argument ?? BACKUP_URL;
  if (target === undefined) throw new UsageError('say where: a folder, s3://…, or set BACKUP_URL');
  return target;
}

/** The file of the passphrase, or that keys are left out: one of both has to be said. */
export function keysChoice(values: {
  readonly keys?: string | undefined;
  readonly 'no-keys'?: boolean | undefined;
}) {
  if ((values.keys === undefined) === (values['no-keys'] !== true)) {
    throw new UsageError('say --keys <passphrase file>, or --no-keys to leave the keys out');
  }
  return values.keys;
}
