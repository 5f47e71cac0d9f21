/** The OpenAPI document of a surface, made from its route schemas, at `/openapi.json` and, to read, `/api-docs`. */
import swagger from '@fastify/swagger';
import { apiDocsPage, apiDocsPolicy } from './api-docs.ts';
import type { App } from './app.ts';

export interface OpenApiInfo {
  readonly title: string;
  readonly description?: string;
  readonly version?: string;
}

/**
 * Called before any route is added. The plug-in is called directly, not queued by `register`, so that routes added
 * to the app right away are documented too.
 */
export function addOpenApi(app: App, info: OpenApiInfo): void {
  const { title, description = '', version = '1.0.0' } = info;
  swagger.fastifySwagger(
    app,
    {
      openapi: {
        openapi: '3.1.0',
        info: { title, description, version },
        components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      },
      // Only routes that were given a HEAD of their own have one: it belongs in the document.
      exposeHeadRoutes: true,
    },
    (error) => {
      if (error !== undefined) throw error;
    },
  );
  let json: string | undefined;
  let page: string | undefined;
  const hidden = { method: ['GET', 'HEAD'], schema: { hide: true } };
  app.route({
    ...hidden,
    url: '/openapi.json',
    handler: (_request, reply) => {
      json ??= JSON.stringify(app.swagger());
      reply.header('content-type', 'application/json; charset=utf-8').send(json);
    },
  });
  app.route({
    ...hidden,
    url: '/api-docs',
    handler: (_request, reply) => {
      page ??= apiDocsPage(app.swagger());
      reply
        .header('content-type', 'text/html; charset=utf-8')
        .header('content-security-policy', apiDocsPolicy)
        .header('x-content-type-options', 'nosniff')
        .send(page);
    },
  });
}
