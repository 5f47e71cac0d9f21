/** A table of files: few are all in the document, many only as far as they are seen. */
import type { Column } from '../../kit/table.tsx';
import { Table } from '../../kit/table.tsx';
import { VirtualTable } from '../../kit/virtual-table.tsx';

const fewRows = 60;

interface Props<R> {
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  rowKey(row: R): string;
}

export function Rows<R>({ caption, columns, rows, rowKey }: Props<R>) {
  if (rows.length <= fewRows) {
    return <Table caption={caption} columns={columns} rows={rows} rowKey={rowKey} />;
  }
  return (
    <VirtualTable
      caption={caption}
      columns={columns}
      rowCount={rows.length}
      rowAt={(index) => rows[index]}
      rowHeight={52}
      rowKey={rowKey}
    />
  );
}
