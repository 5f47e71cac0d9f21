/** The databases, file or server: each host that is named for them, the primary and the standbys. */
import { postgresHosts } from '../../config/postgres-url.ts';
import { messageOf } from '../../kernel/errors.ts';
import { databaseSettings } from '../../storage/sql/open.ts';
import { hostName } from '../../storage/sql/postgres/host-name.ts';
import { type DatabaseProbe, probePostgres, probeSqlite } from '../../storage/sql/probe.ts';
import { sharedDatabases } from '../backup/databases.ts';
import { type Finding, ok, warning, wrong } from './finding.ts';
import type { Patient, ServiceName } from './patient.ts';

type Wanted = (typeof sharedDatabases)[number];

/** Which surfaces keep something in it. */
const users: Readonly<Record<Wanted['name'], readonly ServiceName[]>> = {
  ledger: ['payment', 'upload'],
  gateway: ['gateway'],
  router: ['router'],
};

/** What one host says of a database. */
interface Told {
  readonly host: string;
  readonly probe?: DatabaseProbe;
  readonly failure?: string;
}

export async function lookAtDatabases({
  config,
  surfaces,
}: Pick<Patient, 'config' | 'surfaces'>): Promise<Finding[]> {
  const wanted = sharedDatabases.filter(({ name }) => users[name].some((user) => surfaces.includes(user)));
  return (await Promise.all(wanted.map((one) => lookAtDatabase(config, one)))).flat();
}

async function lookAtDatabase(config: Patient['config'], wanted: Wanted): Promise<Finding[]> {
  const { databaseUrl, urlVariable, readUrls = [] } = databaseSettings(config, wanted.name);
  // A router without a server keeps several files, each with a part of these tables.
  if (databaseUrl === undefined) return wanted.name === 'router' ? [] : [lookAtFile(config.DATA_DIR, wanted)];
  const ask = async (url: string): Promise<Told> => {
    const host = hostName(url);
    try {
      return { host, probe: await probePostgres(url, wanted.name) };
    } catch (error) {
      return { host, failure: messageOf(error) };
    }
  };
  const [hosts, standbys] = await Promise.all([
    Promise.all(postgresHosts(databaseUrl).map(ask)),
    Promise.all(readUrls.map(ask)),
  ]);
  return [
    ...lookAtHosts(hosts, wanted, urlVariable),
    ...standbys.flatMap((told) => lookAtStandby(told, wanted)),
  ];
}

function lookAtFile(dataDir: string, wanted: Wanted): Finding {
  try {
    const probe = probeSqlite(dataDir, wanted.name);
    return probe === undefined
      ? ok(`the database ${wanted.name} is not made yet`)
      : lookAtVersion(probe, wanted);
  } catch (error) {
    return wrong(
      `the database ${wanted.name} cannot be opened: ${messageOf(error)}`,
      'restore the file from a backup, or look at the disk',
    );
  }
}

function lookAtHosts(hosts: readonly Told[], wanted: Wanted, variable: string): Finding[] {
  const silent = hosts.filter(({ failure }) => failure !== undefined);
  const [first] = silent;
  if (first !== undefined && silent.length === hosts.length) {
    const failures = silent.map(({ host, failure }) => `${host}: ${failure}`);
    return [
      wrong(
        `the database ${wanted.name} cannot be opened: ${hosts.length === 1 ? first.failure : failures.join('; ')}`,
        `check ${variable}, its password, and that PostgreSQL runs and takes connections from here`,
      ),
    ];
  }
  const found = silent.map(({ host, failure }) =>
    warning(
      `the host ${host} of the database ${wanted.name} does not answer: ${failure}`,
      `start it, or take it out of ${variable}: without it a failover has one host less to go to`,
    ),
  );
  const primaries = hosts.filter(({ probe }) => probe?.readOnly === false);
  const [primary] = primaries;
  if (primary?.probe === undefined) {
    return [
      ...found,
      wrong(`the database ${wanted.name} takes no writes`, `${variable} must name the primary`),
    ];
  }
  if (primaries.length > 1) {
    const names = primaries.map(({ host }) => host).join(' and ');
    found.push(
      wrong(
        `${names} take writes for the database ${wanted.name}`,
        `make all but one of them standbys, or take them out of ${variable}`,
      ),
    );
  }
  return [...found, lookAtVersion(primary.probe, wanted)];
}

function lookAtVersion({ engine, migrations: had = [] }: DatabaseProbe, wanted: Wanted): Finding {
  const known = new Set(wanted.migrations.map(({ id }) => id));
  const newer = had.filter((id) => !known.has(id));
  if (newer.length > 0) {
    return wrong(
      `the database ${wanted.name} is of a newer version (${newer.join(', ')})`,
      'install that version, or restore the backup of before',
    );
  }
  const isBehind = had.length > 0 && had.length < known.size;
  return ok(
    `the database ${wanted.name} answers (${engine}${isBehind ? '; the next start brings it up to date' : ''})`,
  );
}

/** Readers go to the primary instead while a standby is away: the service is well, and slower. */
function lookAtStandby({ host, probe, failure }: Told, { name }: Wanted): Finding[] {
  if (probe === undefined) {
    return [
      warning(
        `the standby ${host} of the database ${name} does not answer: ${failure}`,
        'start it, or take it out of DATABASE_READ_URLS',
      ),
    ];
  }
  if (probe.readOnly) return [ok(`the standby ${host} of the database ${name} answers`)];
  return [
    warning(
      `${host} takes writes and is no standby of the database ${name}`,
      'name standbys alone in DATABASE_READ_URLS',
    ),
  ];
}
