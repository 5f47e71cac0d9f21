/** Which bundles are opened and which items indexed, as the operator set it. */
import type { Config } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { type Filter, FilterError, type Filters, parseFilterText } from './filter.ts';

/** Throws `StartupError` where one cannot be read. */
export function readFilters(config: Pick<Config, 'ANS104_UNBUNDLE_FILTER' | 'ANS104_INDEX_FILTER'>): Filters {
  return {
    unbundle: readFilter('ANS104_UNBUNDLE_FILTER', config.ANS104_UNBUNDLE_FILTER),
    index: readFilter('ANS104_INDEX_FILTER', config.ANS104_INDEX_FILTER),
  };
}

function readFilter(name: string, text: string): Filter {
  try {
    return parseFilterText(text);
  } catch (error) {
    if (error instanceof FilterError) throw new StartupError(`${name} ${error.message}`);
    throw error;
  }
}
