/**
 * Writes docs/configuration.md from the configuration table, docs/routes.md from a running stack and the dashboards in
 * deploy/grafana from their table; tests keep them in step.
 */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describeConfig } from '../src/config/config.ts';
import { routesOfStack } from '../test/support/all-routes.ts';
import { dashboards } from './dashboards.ts';
import { routeRows, routesPage, routesPath } from './routes-page.ts';

export const configurationPath = join(resolve(import.meta.dirname, '..'), 'docs', 'configuration.md');

export function configurationPage(): string {
  const lines = [
    '# Configuration',
    '',
    'Everything is configured by environment variables. `npm run turnpike -- config` shows the values in force;',
    'a wrong value stops the start with one line per problem. `WORLD` says which money and chains this is about: some',
    'defaults depend on it, and a start that mixes worlds is refused (see [Operations](operations.md#going-to-production)).',
    'What may hold a key can be given as a file: where the kind says *or file*, `NAME_FILE` names the file that holds `NAME`, as',
    'systemd, compose and Kubernetes hand out secrets. The file is refused when anybody but its owner may write to it, or',
    'others than its owner and group may read it; line breaks at its end do not count; both set is an error. It is read at the start.',
    'This page is made by `npm run docs`.',
  ];
  let group = '';
  for (const row of describeConfig()) {
    if (row.group !== group) {
      group = row.group;
      lines.push('', `## ${group}`, '', '| Variable | Default | Kind | Meaning |', '|---|---|---|---|');
    }
    const others = Object.entries(row.inWorlds).map(([world, text]) => `, ${world}: \`${cell(text)}\``);
    const shown = row.defaultText === '' ? '–' : `\`${cell(row.defaultText)}\`${others.join('')}`;
    lines.push(
      `| \`${row.name}\` | ${shown} | ${cell(row.kind)}${row.file === undefined ? '' : ' or file'} | ${cell(row.meaning)} |`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(configurationPath, configurationPage());
  for (const [path, text] of dashboards()) writeFileSync(path, text);
  writeFileSync(routesPath, routesPage(routeRows(await routesOfStack())));
}
