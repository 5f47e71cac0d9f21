/** Checks of requests, compiled when a route is first asked: a whole stack has hundreds, most of which a start never uses. */
import type { FastifyServerOptions } from 'fastify';

type AjvSettings = NonNullable<FastifyServerOptions['ajv']>;
type Ajv = Parameters<NonNullable<AjvSettings['onCreate']>>[0];

export const validators: AjvSettings = {
  customOptions: {
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: true,
    allErrors: false,
    // The schemas are the program's own; to check them, every server would compile the schema of schemas.
    validateSchema: false,
  },
  onCreate: compileAtFirstUse,
};

function compileAtFirstUse(ajv: Ajv): void {
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
