/**
 * What Fastify makes of the schemas of routes, compiled when a route first needs it: a whole stack has hundreds of
 * checks and serializers, of which a start uses none.
 */
import serializers from '@fastify/fast-json-stringify-compiler';
import type { FastifyServerOptions } from 'fastify';

type AjvSettings = NonNullable<FastifyServerOptions['ajv']>;
type Ajv = Parameters<NonNullable<AjvSettings['onCreate']>>[0];
type SchemaController = NonNullable<FastifyServerOptions['schemaController']>;

export const routeSchemas: { readonly ajv: AjvSettings; readonly schemaController: SchemaController } = {
  ajv: {
    customOptions: {
      coerceTypes: false,
      removeAdditional: false,
      useDefaults: true,
      allErrors: false,
      // The schemas are the program's own; to check them, every server would compile the schema of schemas.
      validateSchema: false,
    },
    onCreate: checkAtFirstUse,
  },
  schemaController: {
    compilersFactory: {
      buildSerializer(shared, options) {
        const compile = serializers.SerializerSelector()(shared, options);
        return (route) => {
          let serialize: ReturnType<typeof compile> | undefined;
          return (value) => {
            serialize ??= compile(route);
            return serialize(value);
          };
        };
      },
    },
  },
};

function checkAtFirstUse(ajv: Ajv): void {
  const compile = ajv.compile.bind(ajv);
  Reflect.set(ajv, 'compile', (schema: Parameters<typeof compile>[0]) => {
    let compiled: ReturnType<typeof compile> | undefined;
    const validate = (value: unknown): unknown => {
      compiled ??= compile(schema);
      const isValid = compiled(value);
      validate.errors = compiled.errors;
      return isValid;
    };
    validate.errors = undefined as ReturnType<typeof compile>['errors'];
    return validate;
  });
}
