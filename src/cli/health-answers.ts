/** What services answer who asks how they are. */
import { memberOf, tryParseJson } from '../formats/json.ts';

/** Where those that tell what is wrong although they serve tell it. */
export const strictHealthPaths = {
  gateway: '/gw/healthcheck?strict=true',
  upload: '/health?strict=true',
  payment: '/health?strict=true',
} as const;

export function reasonsIn(text: string): string[] {
  const body = tryParseJson(text);
  // The upload and payment services tell theirs in lines.
  const told = memberOf(body, 'reasons') ?? memberOf(body, 'reason') ?? body ?? text.split('\n');
  const list: unknown[] = Array.isArray(told) ? told : [told];
  return list
    .filter((reason) => typeof reason === 'string' && reason !== '')
    .map((reason) => String(reason).slice(0, 300));
}
