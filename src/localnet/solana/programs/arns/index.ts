/** The name registry program (ArNS): names are sold, extended, widened, returned and auctioned here. */
import { anchorProgram } from '../anchor.ts';
import { manageHandlers } from './manage.ts';
import { purchaseHandlers } from './purchase.ts';
import { upkeepHandlers } from './upkeep.ts';

export const arns = anchorProgram([...purchaseHandlers, ...manageHandlers, ...upkeepHandlers]);
