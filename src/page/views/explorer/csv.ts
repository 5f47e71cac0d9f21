/** Rows as a CSV file (RFC 4180) that spreadsheets open without running anything in it. */
import type { ListedNode } from '../../services/gateway.ts';

const columns = ['id', 'block', 'time', 'content_type', 'bytes', 'owner', 'recipient', 'bundle'];

export function writeCsv(rows: readonly ListedNode[]): string {
  const lines = rows.map((row) =>
    [
      row.id,
      row.block?.height ?? '',
      row.block === null ? '' : new Date(row.block.timestamp * 1_000).toISOString(),
      row.data.type ?? '',
      row.data.size,
      row.owner.address,
      row.recipient,
      row.bundledIn?.id ?? '',
    ]
      .map((value) => cell(String(value)))
      .join(','),
  );
  return `${[columns.join(','), ...lines].join('\r\n')}\r\n`;
}

function cell(value: string): string {
  // A spreadsheet takes these beginnings for formulas.
  const inert = /^[=+@\t\r]|^-(?![\w-]{42}$)/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
