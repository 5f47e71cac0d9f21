/** Which gateways are told of new items, and what waits for them. */

import type { Announcements } from '../../../../formats/admin-answers.ts';
import { Card } from '../../../kit/card.tsx';
import { clampText, formatCount } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import { Badge, Id, Time } from '../../../kit/value.tsx';
import { askUpload } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { everyMs, itemHref } from './place.ts';

const words = texts.operator.bundler;

export function AnnouncementsPage() {
  const page = useLoad(() => askUpload<Announcements>('GET', 'announcements'), [], { everyMs });
  return (
    <Loaded of={page}>
      {({ gateways, items }) => (
        <>
          <Card title={words.gateways}>
            <Table
              caption={words.gateways}
              rows={gateways}
              rowKey={({ url }) => url}
              empty={<Empty title={words.noGateways}>{words.noGatewaysNote}</Empty>}
              columns={[
                {
                  id: 'host',
                  head: words.gateway,
                  wide: true,
                  cell: ({ host }) => <bdi class="foreign">{clampText(host, 120)}</bdi>,
                },
                {
                  id: 'state',
                  head: words.state,
                  cell: ({ listening }) => (
                    <Badge tone={listening ? 'good' : 'bad'}>
                      {listening ? words.listening : words.silent}
                    </Badge>
                  ),
                },
                {
                  id: 'waiting',
                  head: words.waiting,
                  align: 'end',
                  cell: ({ waiting }) => formatCount(waiting),
                },
                {
                  id: 'refused',
                  head: words.refused,
                  align: 'end',
                  cell: ({ refused }) => formatCount(refused),
                },
                {
                  id: 'dropped',
                  head: words.dropped,
                  align: 'end',
                  cell: ({ dropped }) => formatCount(dropped),
                },
                {
                  id: 'error',
                  head: words.lastError,
                  cell: ({ lastError }) =>
                    lastError === null ? '–' : <bdi class="foreign">{clampText(lastError, 200)}</bdi>,
                },
                {
                  id: 'next',
                  head: words.nextTry,
                  cell: ({ nextTryAt }) => (nextTryAt === null ? '–' : <Time at={nextTryAt} />),
                },
              ]}
            />
          </Card>
          <Card title={words.oldest}>
            <Table
              caption={words.oldest}
              rows={items}
              rowKey={({ id }) => id}
              empty={<Empty title={words.noneWait} />}
              columns={[
                {
                  id: 'id',
                  head: words.item,
                  wide: true,
                  cell: ({ id }) => <Id value={id} href={itemHref(id)} />,
                },
                { id: 'received', head: words.received, cell: ({ receivedAt }) => <Time at={receivedAt} /> },
                {
                  id: 'gateways',
                  head: words.waitsFor,
                  wide: true,
                  cell: ({ gateways: hosts }) => (
                    <bdi class="foreign">
                      {hosts.length === 0 ? words.allGateways : clampText(hosts.join(', '), 200)}
                    </bdi>
                  ),
                },
              ]}
            />
          </Card>
        </>
      )}
    </Loaded>
  );
}
