/** KYVE through the REST API of its nodes: `/cosmos/tx/v1beta1/txs/{hash}`, one bank transfer of the coin. */
import { isRecord, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import { HttpClient } from '../../outside/http.ts';
import { absent, combineLookUps, found, type LookUp, notKnown } from '../../outside/look-up.ts';
import { parseAmount } from '../../pricing/pricing.ts';
import {
  type ChainReader,
  type ChainTransaction,
  destinationIn,
  listedByFirst,
  type PastPayment,
  type Transfer,
} from './chain.ts';

export interface KyveReaderOptions {
  /** The coin's smallest unit: `ukyve`, on test networks `tkyve`. */
  readonly denom: string;
  readonly minConfirmations: number;
}

const timeoutMs = 8_000;
/** A search takes a node longer than a transaction by its hash. */
const listTimeoutMs = 60_000;
const maxBytes = 1024 * 1024;
const send = '/cosmos.bank.v1beta1.MsgSend';

/** `urls`: of nodes, in order of preference. */
export function kyveReader(urls: readonly string[], options: KyveReaderOptions): ChainReader {
  const http = new HttpClient({ timeoutMs, maxBytes });
  const get = (url: string) => getJson(http, url);

  async function readFrom(url: string, id: string): Promise<LookUp<ChainTransaction>> {
    // Read first: what is missing after it is missing at this height, and confirmations are never counted too high.
    const latest = await get(`${url}/cosmos/base/tendermint/v1beta1/blocks/latest`);
    const header = memberOf(memberOf(latest.json, 'block'), 'header');
    const head = toHeight(textOf(header, 'height'));
    const { status, json } = await get(`${url}/cosmos/tx/v1beta1/txs/${id}`);
    // gRPC's NOT_FOUND; nodes of older versions answer it with another status.
    if (status === 404 || (status !== 200 && memberOf(json, 'code') === 5)) return absent(head);
    if (status !== 200) throw new Error(`the node answered ${status}`);
    return found(transactionOf(json, id, head, options), head);
  }

  return {
    parseId: (text) => (/^[0-9a-fA-F]{64}$/.test(text) ? text.toUpperCase() : undefined),
    async read(id) {
      const answers: LookUp<ChainTransaction>[] = [];
      for (const url of urls) {
        const answer = await readFrom(url, id).catch(notKnown);
        if (answer.state === 'found') return { ...answer.value, at: answer.at };
        answers.push(answer);
      }
      const all = combineLookUps(answers);
      if (all.state === 'absent') return { state: 'not-found', at: all.at };
      const cause = all.state === 'not-known' ? all.cause : undefined;
      if (answers.every(({ state }) => state === 'not-known')) throw cause;
      return { state: 'not-known', cause };
    },
    close: () => http.close(),
  };
}

const perPage = 100;
const mostPages = 1_000;
const maxPageBytes = 16 * 1024 * 1024;

/** What nodes list as paid to the wallet, the newest first. */
export const kyveHistory = (
  urls: readonly string[],
  wallet: string,
  since: number,
): AsyncIterable<PastPayment> => listedByFirst(urls, (url) => pagesOf(url, wallet, since));

async function* pagesOf(url: string, wallet: string, since: number): AsyncGenerator<PastPayment> {
  const http = new HttpClient({ timeoutMs: listTimeoutMs, maxBytes: maxPageBytes });
  try {
    for (let page = 1; page <= mostPages; page += 1) {
      const question = new URLSearchParams({
        ...{ query: `transfer.recipient='${wallet}'`, order_by: 'ORDER_BY_DESC' },
        ...{ page: String(page), limit: String(perPage) },
      });
      const { status, json } = await getJson(http, `${url}/cosmos/tx/v1beta1/txs?${question}`);
      const listed = memberOf(json, 'tx_responses');
      if (status !== 200 || !Array.isArray(listed))
        throw new Error(`the node listed no transactions: ${status}`);
      for (const one of listed) {
        const id = textOf(one, 'txhash')?.toUpperCase();
        const at = Date.parse(textOf(one, 'timestamp') ?? '');
        if (id === undefined || Number.isNaN(at))
          throw new Error('the node listed a transaction without hash or time');
        if (at < since) return;
        yield { id, at };
      }
      // A page behind the last one is an error to some versions.
      if (page * perPage >= Number(textOf(json, 'total') ?? '0')) return;
    }
    throw new Error('there are more than are listed: ask for a later time');
  } finally {
    await http.close();
  }
}

async function getJson(http: HttpClient, url: string): Promise<{ status: number; json: unknown }> {
  const { status, body } = await http.call(url, { headers: { accept: 'application/json' } });
  return { status, json: tryParseJson(body.toString('utf8')) };
}

function transactionOf(
  json: unknown,
  id: string,
  head: number,
  { denom, minConfirmations }: KyveReaderOptions,
): ChainTransaction {
  const response = memberOf(json, 'tx_response');
  if (textOf(response, 'txhash')?.toUpperCase() !== id)
    throw new Error('the node answered another transaction');
  const blockHeight = toHeight(textOf(response, 'height'));
  const body = memberOf(memberOf(json, 'tx'), 'body');
  const transfer = { ...transferIn(body, denom), blockHeight };
  if (head - blockHeight + 1 < minConfirmations) return { state: 'pending', transfer };
  // Any other code: it is in a block, cost its fee and moved nothing.
  return { state: memberOf(response, 'code') === 0 ? 'confirmed' : 'reverted', transfer };
}

/** The only message, a transfer of one coin; anything else is no payment that can be recognised. */
function transferIn(body: unknown, denom: string): Transfer {
  const list = memberOf(body, 'messages');
  const messages: unknown[] = Array.isArray(list) ? list : [];
  const [message] = messages;
  const sender = textOf(message, 'from_address') ?? '';
  const nothing: Transfer = { sender, recipient: '', quantity: 0n };
  if (messages.length !== 1 || !isRecord(message) || message['@type'] !== send) return nothing;
  const coins: unknown[] = Array.isArray(message.amount) ? message.amount : [];
  const quantity = parseAmount(textOf(coins[0], 'amount') ?? '');
  if (coins.length !== 1 || textOf(coins[0], 'denom') !== denom || quantity === undefined) return nothing;
  const memo = textOf(body, 'memo') ?? '';
  return {
    sender,
    recipient: textOf(message, 'to_address') ?? '',
    quantity,
    destination: destinationIn(memo),
  };
}

function toHeight(text: string | undefined): number {
  if (text === undefined || !/^[0-9]{1,15}$/.test(text)) throw new Error('the node answered no height');
  return Number(text);
}
