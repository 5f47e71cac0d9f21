/** `GET /audit`: who changed what. */
import { Type } from 'typebox';
import { type AuditLog, readAuditQuery } from '../../audit-log.ts';
import { HttpError } from '../../errors.ts';
import type { App } from '../../http/app.ts';

const invalid = "Invalid 'since' or 'limit' - must be an ISO 8601 time and a number from 1 to 1000";

export function auditRoute(app: App, audit: AuditLog): void {
  app.get(
    '/audit',
    {
      schema: {
        summary: 'What was changed by operators, newest first',
        tags: ['admin'],
        querystring: Type.Object({
          since: Type.Optional(Type.String({ maxLength: 64, description: 'ISO 8601' })),
          limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$' })),
        }),
      },
      config: { invalid },
    },
    async (request) => {
      const query = readAuditQuery(request.query);
      if (query === undefined) throw new HttpError(400, invalid);
      return { lines: await audit.read(query) };
    },
  );
}
