/**
 * The operator's side of the gateway (interface §4.4 "Admin routes", §5 "Admin key").
 *
 * - `part.ts`    all of it as a part of the gateway
 * - `auth.ts`    the admin key, asked before a path is even looked at
 * - `asked.ts`   transactions an operator asked for, until the chain gives them
 * - `moderation/` what is not served, kept and asked
 * - `errors.ts`  every refusal with its exact words
 * - `routes/`    one file per family of routes
 */
export { type AdminPartDeps, createAdminPart } from './part.ts';
