/** A create request, checked field by field against the limits of interface §8 and the programs' own rules. */
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isRecord, tryParseJson } from '../../formats/json.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { maxLeaseYears } from '../../formats/solana/name-prices.ts';
import {
  areKeywords,
  byteLength,
  defaultTtlSeconds,
  isArweaveId,
  isTarget,
  isUndername,
  maxDescriptionLength,
  maxDisplayNameLength,
  maxTickerLength,
  maxTtlSeconds,
  maxUndernameLength,
  minTtlSeconds,
  protocolArweave,
  rootUndername,
} from '../../formats/solana/name-rules.ts';
import { badRequest } from '../errors.ts';
import type { ActionName, ActionRequest, AntOpening, MetadataChange } from './action.ts';
import {
  addressOf,
  type Fields,
  nameOf,
  optionalInteger,
  optionalNameType,
  optionalText,
  requiredInteger,
  requiredText,
  walletAddressOf,
} from './fields.ts';

const maxUndernames = 65_535;

/** `service` is whom controller actions mean when they name nobody. */
export function readActionRequest(action: ActionName, fields: Fields, service: SolanaAddress): ActionRequest {
  if (action !== 'buy-name' && fields.antState !== undefined) {
    throw badRequest('antState is only accepted on buy-name');
  }
  switch (action) {
    case 'buy-name':
      return readBuy(fields);
    case 'extend-lease':
      return { action, name: readName(fields), years: requiredInteger(fields, 'years', 1, maxLeaseYears) };
    case 'upgrade-name':
      return { action, name: readName(fields) };
    case 'increase-undername-limit': {
      const quantity = requiredInteger(fields, 'increaseQty', 1, maxUndernames);
      return { action, name: readName(fields), quantity };
    }
    case 'set-record': {
      const transactionId = requiredText(fields, 'transactionId');
      if (!isArweaveId(transactionId)) throw badRequest('transactionId must be 43 base64url characters');
      const ttlSeconds =
        optionalInteger(fields, 'ttlSeconds', minTtlSeconds, maxTtlSeconds) ?? defaultTtlSeconds;
      return { action, ...readRecord(fields, rootUndername), transactionId, ttlSeconds };
    }
    case 'remove-record': {
      const record = readRecord(fields);
      if (record.undername === rootUndername) throw badRequest('The root record @ cannot be removed');
      return { action, ...record };
    }
    case 'remove-record-metadata':
      return { action, ...readRecord(fields) };
    case 'set-record-metadata':
      return { action, ...readRecord(fields, rootUndername), change: readChange(fields) };
    case 'transfer-record':
      return { action, ...readRecord(fields), target: walletAddressOf(fields, 'target') };
    case 'add-controller':
    case 'remove-controller': {
      const target = fields.target === undefined ? service : addressOf(fields, 'target');
      return { action, ...readToken(fields), target };
    }
    case 'transfer': {
      const request = { action, ...readToken(fields), target: walletAddressOf(fields, 'target') };
      if (request.target === request.owner) throw badRequest('target owns the ANT already');
      return request;
    }
  }
}

function readName(fields: Fields): string {
  return nameOf(requiredText(fields, 'name'));
}

function readToken(fields: Fields): { antId: SolanaAddress; owner: SolanaAddress } {
  return { antId: addressOf(fields, 'antId'), owner: walletAddressOf(fields, 'ownerAddress') };
}

function readRecord(fields: Fields, fallback?: string) {
  const undername =
    fallback === undefined
      ? requiredText(fields, 'undername')
      : (optionalText(fields, 'undername') ?? fallback);
  if (undername.length > maxUndernameLength) {
    throw badRequest(`undername must be at most ${maxUndernameLength} characters`);
  }
  // Lower case is ASCII's alone: U+212A would become a k that its owner did not sign.
  const lower = asciiLowerCase(undername);
  if (!isUndername(lower)) {
    throw badRequest('undername must be @ or letters, digits, - and _, beginning with a letter or digit');
  }
  return { ...readToken(fields), undername };
}

function readBuy(fields: Fields): ActionRequest {
  if (fields.transactionId !== undefined) {
    throw badRequest('transactionId is not accepted on buy-name: use antState.transactionId');
  }
  const type = optionalNameType(fields) ?? 'lease';
  return {
    action: 'buy-name',
    name: readName(fields),
    owner: walletAddressOf(fields, 'ownerAddress'),
    type,
    years: type === 'lease' ? requiredInteger(fields, 'years', 1, maxLeaseYears) : 0,
    opening: readOpening(fields.antState),
  };
}

function readChange(fields: Fields): MetadataChange {
  const displayName = readTriState(fields, 'displayName');
  const recordLogo = readTriState(fields, 'recordLogo');
  const recordDescription = readTriState(fields, 'recordDescription');
  const recordKeywords = readKeywords(fields);
  if (displayName && byteLength(displayName) > maxDisplayNameLength) {
    throw badRequest(`displayName must be at most ${maxDisplayNameLength} bytes`);
  }
  if (typeof recordLogo === 'string' && !isArweaveId(recordLogo)) {
    throw badRequest('recordLogo must be a transaction id of 43 characters; send null to clear it');
  }
  if (recordDescription && byteLength(recordDescription) > maxDescriptionLength) {
    throw badRequest(`recordDescription must be at most ${maxDescriptionLength} bytes`);
  }
  const change = {
    ...(displayName !== undefined && { displayName }),
    ...(recordLogo !== undefined && { recordLogo }),
    ...(recordDescription !== undefined && { recordDescription }),
    ...(recordKeywords !== undefined && { recordKeywords }),
  };
  if (Object.keys(change).length === 0) {
    throw badRequest('Give at least one of displayName, recordLogo, recordDescription, recordKeywords');
  }
  return change;
}

/**
 * Lines and sentinels of the owner's proof are control characters, so no field may carry one. Nor half a surrogate
 * pair, which is signed as if it were U+FFFD.
 */
function refuseControls(text: string, name: string): void {
  if (!text.isWellFormed()) throw badRequest(`${name} must be well-formed Unicode`);
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) throw badRequest(`${name} must not contain control characters`);
  }
}

function readTriState(fields: Fields, name: string): string | null | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return value;
  if (typeof value !== 'string') throw badRequest(`${name} must be a string or null`);
  refuseControls(value, name);
  return value;
}

function readKeywords(fields: Fields): string[] | null | undefined {
  const value = fields.recordKeywords;
  if (value === undefined || value === null) return value;
  const list: unknown[] = Array.isArray(value)
    ? value
    : typeof value === 'string'
      ? splitKeywords(value)
      : [0];
  const keywords: string[] = [];
  for (const item of list) {
    if (typeof item !== 'string') throw badRequest('recordKeywords must be a list of strings or null');
    refuseControls(item, 'recordKeywords');
    keywords.push(item);
  }
  if (!areKeywords(keywords)) {
    throw badRequest('recordKeywords must be at most 3 different words of 1 to 32 letters, digits, _ # @ -');
  }
  return keywords;
}

function splitKeywords(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

const openingFields = new Set([
  'transactionId',
  'targetProtocol',
  'ticker',
  'logo',
  'description',
  'keywords',
]);

/** `antState` of `buy-name`: an object, or its JSON text where it comes in a query string. */
function readOpening(value: unknown): AntOpening {
  if (value === undefined || value === null) return {};
  const fields = typeof value === 'string' ? parseOpening(value) : value;
  if (!isRecord(fields)) throw badRequest('antState must be an object');
  for (const key of Object.keys(fields)) {
    if (!openingFields.has(key)) throw badRequest(`antState.${key.slice(0, 40)} is not known`);
  }
  const targetProtocol = readProtocol(fields.targetProtocol);
  const transactionId = openingText(fields, 'transactionId');
  const ticker = openingText(fields, 'ticker');
  const logo = openingText(fields, 'logo');
  const description = openingText(fields, 'description');
  const keywords = openingKeywords(fields.keywords);
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

function parseOpening(text: string): unknown {
  const parsed = tryParseJson(text);
  if (parsed === undefined) throw badRequest('antState must be JSON');
  return parsed;
}

/** An empty text counts as unset. */
function openingText(fields: Fields, name: string): string | undefined {
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

function openingKeywords(value: unknown): string[] | undefined {
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
