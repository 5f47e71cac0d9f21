/** `antState` of `buy-name`: an object, or its JSON text where it comes in a query string. */
import {
  areKeywords,
  byteLength,
  isArweaveId,
  isTarget,
  maxDescriptionLength,
  maxTickerLength,
  protocolArweave,
} from '../../formats/solana/name-rules.ts';
import { badRequest } from '../errors.ts';
import type { AntOpening } from './action.ts';

const known = new Set(['transactionId', 'targetProtocol', 'ticker', 'logo', 'description', 'keywords']);

export function readOpening(value: unknown): AntOpening {
  if (value === undefined || value === null) return {};
  const state = typeof value === 'string' ? parse(value) : value;
  if (typeof state !== 'object' || state === null || Array.isArray(state)) {
    throw badRequest('antState must be an object');
  }
  const fields: Record<string, unknown> = { ...state };
  for (const key of Object.keys(fields)) {
    if (!known.has(key)) throw badRequest(`antState.${key.slice(0, 40)} is not known`);
  }
  const targetProtocol = readProtocol(fields.targetProtocol);
  const transactionId = readText(fields, 'transactionId');
  const ticker = readText(fields, 'ticker');
  const logo = readText(fields, 'logo');
  const description = readText(fields, 'description');
  const keywords = readKeywords(fields.keywords);
  if (transactionId !== undefined && !isTarget(transactionId, targetProtocol ?? protocolArweave)) {
    throw badRequest('antState.transactionId is not a valid target for its targetProtocol');
  }
  if (targetProtocol === 1 && transactionId === undefined) {
    throw badRequest('antState.targetProtocol 1 needs antState.transactionId');
  }
  if (ticker !== undefined && byteLength(ticker) > maxTickerLength) {
    throw badRequest(`antState.ticker must be at most ${maxTickerLength} bytes`);
  }
  if (logo !== undefined && !isArweaveId(logo)) {
    throw badRequest('antState.logo must be a transaction id of 43 characters');
  }
  if (description !== undefined && byteLength(description) > maxDescriptionLength) {
    throw badRequest(`antState.description must be at most ${maxDescriptionLength} bytes`);
  }
  return {
    ...(transactionId !== undefined && { transactionId }),
    ...(targetProtocol !== undefined && { targetProtocol }),
    ...(ticker !== undefined && { ticker }),
    ...(logo !== undefined && { logo }),
    ...(description !== undefined && { description }),
    ...(keywords !== undefined && { keywords }),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('antState must be JSON');
  }
}

/** An empty text counts as unset. */
function readText(fields: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw badRequest(`antState.${name} must be a string`);
  return value;
}

function readProtocol(value: unknown): 0 | 1 | undefined {
  if (value === undefined || value === null) return undefined;
  if (value !== 0 && value !== 1) throw badRequest('antState.targetProtocol must be 0 or 1');
  return value;
}

function readKeywords(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw badRequest('antState.keywords must be a list of strings');
  const keywords: string[] = [];
  for (const item of value) {
    if (typeof item !== 'string') throw badRequest('antState.keywords must be a list of strings');
    keywords.push(item);
  }
  if (!areKeywords(keywords)) {
    throw badRequest(
      'antState.keywords must be at most 3 different words of 1 to 32 letters, digits, _ # @ -',
    );
  }
  return keywords;
}
