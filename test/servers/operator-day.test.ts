import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { operatorDay } from '../support/operator-day.ts';

const server = process.env.TEST_DATABASE_URL;

if (server !== undefined)
  operatorDay('a day of an operator on PostgreSQL', async (t) => {
    const name = `operator_day_${randomBytes(6).toString('hex')}`;
    const restored = `${name}_restored`;
    await onServer(`CREATE DATABASE ${name}`);
    t.after(async () => {
      for (const one of [name, restored]) await onServer(`DROP DATABASE IF EXISTS ${one} WITH (FORCE)`);
    });
    return {
      settings: { DATABASE_URL: urlOf(name) },
      async restore() {
        await onServer(`CREATE DATABASE ${restored} TEMPLATE ${name}`);
        await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
        return { DATABASE_URL: urlOf(restored) };
      },
    };
  });

function urlOf(database: string): string {
  const url = new URL(server ?? '');
  url.pathname = `/${database}`;
  return url.href;
}

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
