/** Items as rows of a table. */

import type { ItemSummary } from '../../../../formats/admin-answers.ts';
import { clampText } from '../../../kit/format.ts';
import type { Column } from '../../../kit/table.tsx';
import { Amount, Badge, Bytes, Id, Time } from '../../../kit/value.tsx';
import { texts } from '../../../texts.ts';
import { itemHref } from './place.ts';
import { stateTones } from './state-badge.tsx';

const words = texts.operator.bundler;
const { unknown } = texts.operator;

export const itemColumns: readonly Column<ItemSummary>[] = [
  { id: 'id', head: words.item, cell: ({ id }) => <Id value={id} href={itemHref(id)} /> },
  {
    id: 'state',
    head: words.state,
    cell: ({ state }) => <Badge tone={stateTones[state] ?? 'info'}>{words.itemStates[state]}</Badge>,
  },
  {
    id: 'type',
    head: words.type,
    wide: true,
    cell: ({ contentType }) => (
      <bdi class="foreign">{contentType === '' ? unknown : clampText(contentType, 80)}</bdi>
    ),
  },
  { id: 'bytes', head: words.bytes, align: 'end', cell: ({ bytes }) => <Bytes of={bytes} /> },
  {
    id: 'paid',
    head: words.paid,
    align: 'end',
    cell: ({ winc }) => (winc === '0' ? words.free : <Amount winc={BigInt(winc)} />),
  },
  {
    id: 'signer',
    head: words.signer,
    cell: ({ signer }) => <Id value={signer} href={`/address/${signer}`} />,
  },
  { id: 'received', head: words.received, cell: ({ receivedAt }) => <Time at={receivedAt} /> },
];
