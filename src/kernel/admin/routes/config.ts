/** `GET /config`: every variable as it holds in this process, secrets hidden (as `turnpike config` shows them). */
import { type Config, describeInForce } from '../../../config/config.ts';
import type { ConfigVariable } from '../../../formats/admin-answers.ts';
import type { App } from '../../http/app.ts';

export function configRoute(app: App, config: Config): void {
  app.get(
    '/config',
    { schema: { summary: 'Every variable in force, secrets hidden', tags: ['admin'] } },
    (): { variables: ConfigVariable[] } => ({
      variables: describeInForce(config).map(
        ({ group, name, kind, meaning, defaultText, current, value }) => ({
          ...{ group, name, kind, meaning, value },
          default: defaultText,
          isSet: current !== undefined,
        }),
      ),
    }),
  );
}
