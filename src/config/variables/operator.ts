import { integer } from '../kinds.ts';

/** The operator's side of the gateway: admin routes, export, metering, signatures. */
export const operator = {
  BUNDLE_QUEUE_MAX: integer({
    meaning: 'Bundles that may wait before `queue-bundle` answers 429',
    default: 100_000,
    min: 1,
  }),
};
