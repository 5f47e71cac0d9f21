/** `GET /audit`: who changed what. */
import { Type } from 'typebox';
import { type AuditLog, maxAuditLines } from '../../../kernel/audit-log.ts';
import type { App } from '../../../kernel/http/server.ts';
import { badRequest } from '../errors.ts';

const defaultLines = 100;
const badSince = "'since' must be an ISO 8601 time";
const badLimit = `'limit' must be a number from 1 to ${maxAuditLines}`;

export function auditRoutes(app: App, audit: AuditLog): void {
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
      config: { invalid: (_part, field) => (field.endsWith('limit') ? badLimit : badSince) },
    },
    async (request) => {
      const { since, limit = String(defaultLines) } = request.query;
      const from = since === undefined ? undefined : Date.parse(since);
      if (Number.isNaN(from)) throw badRequest(badSince);
      const lines = Number(limit);
      if (lines < 1 || lines > maxAuditLines) throw badRequest(badLimit);
      return { lines: await audit.read({ since: from, limit: lines }) };
    },
  );
}
