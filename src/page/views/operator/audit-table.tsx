/** Who changed what, newest first. */

import type { AuditLine } from '../../../formats/gateway-admin-answers.ts';
import { clampText } from '../../kit/format.ts';
import { Table } from '../../kit/table.tsx';
import { Time } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';

const words = texts.operator.moderation;

export function AuditTable({ lines }: { readonly lines: readonly AuditLine[] }) {
  return (
    <Table
      caption={words.audit}
      rows={lines.map((line, at) => ({ ...line, key: `${line.at} ${at}` }))}
      rowKey={({ key }) => key}
      empty={<p class="soft">{words.auditEmpty}</p>}
      columns={[
        { id: 'when', head: words.when, cell: ({ at }) => <Time at={new Date(at)} /> },
        { id: 'service', head: words.service, cell: ({ surface }) => surface },
        { id: 'who', head: words.who, cell: ({ who, via }) => <span title={via}>{clampText(who, 60)}</span> },
        { id: 'action', head: words.action, cell: ({ action }) => clampText(action, 80) },
        {
          id: 'value',
          head: words.what,
          wide: true,
          cell: (line) => <bdi class="foreign">{givenText(line)}</bdi>,
        },
        {
          id: 'notes',
          head: words.notes,
          cell: ({ source, notes }) => <bdi class="foreign">{notesText(source, notes)}</bdi>,
        },
        {
          id: 'result',
          head: words.result,
          cell: ({ result }) => <bdi class="foreign">{clampText(result, 120)}</bdi>,
        },
      ]}
    />
  );
}

const givenText = ({ value, given }: AuditLine): string =>
  clampText(value ?? (given === undefined ? '' : JSON.stringify(given)), 200);

const notesText = (source: string | undefined, notes: string | undefined): string =>
  clampText([source, notes].filter((text) => text !== undefined && text !== '').join(': '), 200);
