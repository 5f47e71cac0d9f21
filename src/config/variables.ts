/** Every environment variable of the program, grouped as people look for them. */
import { arweave } from './variables/arweave.ts';
import { card } from './variables/card.ts';
import { webConsole } from './variables/console.ts';
import { content } from './variables/content.ts';
import { events } from './variables/events.ts';
import { fork } from './variables/fork.ts';
import { gateway } from './variables/gateway.ts';
import { general, ports } from './variables/general.ts';
import { indexes } from './variables/indexes.ts';
import { keys } from './variables/keys.ts';
import { names } from './variables/names.ts';
import { operator } from './variables/operator.ts';
import { payment } from './variables/payment.ts';
import { pricing } from './variables/pricing.ts';
import { router } from './variables/router.ts';
import { tracing } from './variables/tracing.ts';
import { upload } from './variables/upload.ts';
import { x402 } from './variables/x402.ts';

export const groups = {
  General: general,
  Ports: ports,
  Keys: keys,
  Arweave: arweave,
  Fork: fork,
  Pricing: pricing,
  Payment: payment,
  'Card payments': card,
  x402: x402,
  Names: names,
  Upload: upload,
  Gateway: gateway,
  'Gateway content': content,
  'Gateway operator': operator,
  'Published indexes': indexes,
  Events: events,
  Router: router,
  Console: webConsole,
  Traces: tracing,
};

export const variables = {
  ...general,
  ...ports,
  ...keys,
  ...arweave,
  ...fork,
  ...pricing,
  ...payment,
  ...card,
  ...x402,
  ...names,
  ...upload,
  ...gateway,
  ...content,
  ...operator,
  ...indexes,
  ...events,
  ...router,
  ...webConsole,
  ...tracing,
};
