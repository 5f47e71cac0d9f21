/**
 * Signed answers (RFC 9421, Ed25519, label `sig1`), switched on with HTTPSIG_ENABLED. A reader who keeps an answer can
 * show later which gateway gave it: the key is the observer key, and its id carries the key itself.
 *
 * - `signature.ts`  what is covered, and the base that is signed: pure
 * - `part.ts`       signing as the head of an answer leaves
 */
export { createSignaturePart } from './part.ts';
