import { type ConfigRow, describeProcessConfig, readProcessConfig } from '../../config/config.ts';
import { type Command, printJson, readArguments } from '../command.ts';

export const config: Command = {
  usage:
    'turnpike config [--json] [--set]\n\n  --json  for machines\n  --set   only the variables that are set',
  async run(args) {
    const { values } = readArguments({
      args,
      options: { json: { type: 'boolean' }, set: { type: 'boolean' } },
    });
    const rows = describeProcessConfig().filter((row) => !values.set || row.current !== undefined);
    if (values.json) printJson(rows);
    else console.log(table(rows));
    readProcessConfig(); // Throws with one line per wrong value, after the table has shown them.
    return 0;
  },
};

function table(rows: readonly ConfigRow[]): string {
  const lines: string[] = [];
  let group = '';
  const width = Math.max(0, ...rows.map((row) => row.name.length));
  for (const row of rows) {
    if (row.group !== group) {
      group = row.group;
      lines.push('', group);
    }
    const value =
      row.current !== undefined ? `${row.current}  (set)` : row.defaultText === '' ? '-' : row.defaultText;
    lines.push(
      `  ${row.name.padEnd(width)}  ${value}`,
      `  ${''.padEnd(width)}    ${row.meaning} [${row.kind}${row.file === undefined ? '' : `, or ${row.file}`}]`,
    );
  }
  return lines.join('\n').trimStart();
}
