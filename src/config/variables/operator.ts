import { integer, text } from '../kinds.ts';

/** The operator's side of the gateway: admin routes, export, metering, signatures. */
export const operator = {
  BUNDLE_QUEUE_MAX: integer({
    meaning: 'Bundles that may wait before `queue-bundle` answers 429',
    default: 100_000,
    min: 1,
  }),
  PARQUET_EXPORT_DIR: text({
    meaning:
      'Folder that Parquet exports are written into, and never outside of; DATA_DIR/parquet without it',
    default: undefined,
  }),
};
