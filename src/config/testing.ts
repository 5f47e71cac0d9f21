/** What the environment sets for tests. */

/** A PostgreSQL that tests may make schemas in. */
export const testDatabaseUrl = (): string | undefined => process.env.TEST_DATABASE_URL;

/** Silent, unless a person who looks for a fault asks for more. */
export const testLogLevel = (): 'debug' | 'silent' =>
  process.env.TEST_LOG_LEVEL === 'debug' ? 'debug' : 'silent';
