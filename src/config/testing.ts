/** What tests are told by the environment they run in. */

/** A PostgreSQL that tests may make schemas in. */
export const testDatabaseUrl = (): string | undefined => process.env.TEST_DATABASE_URL;

/** Silent, unless whoever looks for a fault wants to hear everything. */
export const testLogLevel = (): 'debug' | 'silent' =>
  process.env.TEST_LOG_LEVEL === 'debug' ? 'debug' : 'silent';
