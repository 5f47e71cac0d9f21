/** Ethereum and its kin through JSON-RPC: the native coin, or one ERC-20 token. */
import { authorizationUsedTopic, transferTopic } from '../../formats/evm-events.ts';
import { isRecord, memberOf, requireText, textOf } from '../../formats/json.ts';
import {
  blocksBackwards,
  evmHex,
  evmNumber,
  evmWord,
  logsBackwards,
  timeOf,
} from '../../outside/evm-history.ts';
import type { JsonRpcNode, JsonRpcPool } from '../../outside/json-rpc.ts';
import { absent, found, type LookUp } from '../../outside/look-up.ts';
import { parseEthereumAddress } from '../../wallets/ethereum/address.ts';
import {
  type ChainReader,
  type ChainTransaction,
  destinationIn,
  lookAtAll,
  type PastPayment,
  type Transfer,
} from './chain.ts';

export interface EvmReaderOptions {
  readonly endpoints: JsonRpcPool;
  readonly minConfirmations: number;
  /** ERC-20 only: the token's contract, and the wallet whose incoming transfer counts. */
  readonly erc20?: Erc20;
}

type Erc20 = Readonly<Record<'contract' | 'wallet', string>>;

/** `transfer(address,uint256)` */
const TRANSFER_SELECTOR = 'a9059cbb';

/** Whoever lists what was paid looks back for months of logs, or a week of two-second blocks. */
const mostSearches = 2_000;
const mostBlocks = 302_400;

/** The native coin, sent to the wallet: no node lists that, so that every block since then is read. */
export async function* coinHistory(
  endpoints: JsonRpcPool,
  wallet: string,
  since: number,
): AsyncGenerator<PastPayment> {
  const paidTo = wallet.toLowerCase();
  for await (const { at, transactions } of blocksBackwards(endpoints, { since, most: mostBlocks })) {
    for (const transaction of transactions) {
      if (textOf(transaction, 'to')?.toLowerCase() !== paidTo || textOf(transaction, 'value') === '0x0')
        continue;
      const id = textOf(transaction, 'hash');
      if (id === undefined) throw new Error('the endpoint answered a transaction without a hash');
      yield { id: id.toLowerCase(), at };
    }
  }
}

/** Transactions in which the token came in to the wallet, each once. */
export async function* tokenHistory(
  endpoints: JsonRpcPool,
  { contract, wallet }: Erc20,
  since: number,
): AsyncGenerator<PastPayment> {
  const head = evmNumber(await endpoints.call('eth_blockNumber', []));
  const topics = [transferTopic, null, `0x${evmWord(wallet)}`];
  const listed = new Set<string>();
  const search = { address: contract, topics, head, since, mostSearches, isWhole: true };
  for await (const log of logsBackwards(endpoints, search)) {
    const id = textOf(log, 'transactionHash')?.toLowerCase();
    if (id === undefined) throw new Error('the endpoint answered a log without a transaction');
    if (listed.has(id)) continue;
    listed.add(id);
    const number = evmHex(evmNumber(memberOf(log, 'blockNumber')));
    const at = timeOf(await endpoints.call('eth_getBlockByNumber', [number, false]));
    if (at >= since) yield { id, at };
  }
}

export function evmReader({ endpoints, minConfirmations, erc20 }: EvmReaderOptions): ChainReader {
  return {
    parseId: (text) => (/^0x[0-9a-fA-F]{64}$/.test(text) ? text.toLowerCase() : undefined),
    read: (id) => lookAtAll(endpoints, (node) => readFrom(node, id)),
    close: () => endpoints.close(),
  };

  async function readFrom(node: JsonRpcNode, id: string): Promise<LookUp<ChainTransaction>> {
    // Read first: what is missing after it is missing at this height, and confirmations are never counted too high.
    const head = toSafeNumber(await node.call('eth_blockNumber', []));
    const transaction = await node.call('eth_getTransactionByHash', [id]);
    if (transaction === null) return absent(head);
    if (!isRecord(transaction)) throw new Error('the endpoint answered no transaction');
    const receipt = await node.call('eth_getTransactionReceipt', [id]);
    return found(isRecord(receipt) ? mined(transaction, receipt, head) : waiting(transaction), head);
  }

  /** Not in a block: a native transfer can be read, a token's is known only by its log. */
  function waiting(transaction: Record<string, unknown>): ChainTransaction {
    if (erc20 !== undefined) return { state: 'unreadable' };
    return { state: 'pending', transfer: nativeTransfer(transaction) };
  }

  function mined(
    transaction: Record<string, unknown>,
    receipt: Record<string, unknown>,
    head: number,
  ): ChainTransaction {
    const blockHeight = toSafeNumber(receipt.blockNumber);
    const base =
      erc20 === undefined ? nativeTransfer(transaction) : tokenTransfer(transaction, receipt, erc20);
    const transfer = { ...base, blockHeight };
    const confirmations = head - blockHeight + 1;
    // The block may still be replaced by one in which the transaction has another end.
    if (confirmations < minConfirmations) return { state: 'pending', transfer };
    // A reverted transaction still has a value and a receipt; only its status tells that nothing moved.
    return { state: requireText(receipt, 'status') === '0x1' ? 'confirmed' : 'reverted', transfer };
  }
}

/** The transaction's own value: its data are signed by the very wallet that pays. */
function nativeTransfer(transaction: Record<string, unknown>): Transfer {
  return {
    sender: address(requireText(transaction, 'from')),
    // Without a recipient it makes a contract; nobody of ours is paid.
    recipient: typeof transaction.to === 'string' ? address(transaction.to) : '',
    quantity: BigInt(requireText(transaction, 'value')),
    destination: destinationIn(calldata(transaction).toString('utf8')),
  };
}

/**
 * Exactly one transfer of the token to the wallet; none or several are no payment that can be recognised. A transfer by
 * authorisation is how x402 pays, and is credited there: the wallets of both may be one.
 */
function tokenTransfer(
  transaction: Record<string, unknown>,
  receipt: Record<string, unknown>,
  erc20: Erc20,
): Transfer {
  const logs = logsOf(receipt, erc20.contract);
  const authorizers = new Set(
    logs
      .filter(({ topics }) => topics[0] === authorizationUsedTopic)
      .map(({ topics }) => topicAddress(topics[1])),
  );
  const transfers = logs.flatMap(({ topics, data }) => {
    const [topic, from, to] = topics;
    if (topic !== transferTopic || topics.length !== 3 || topicAddress(to) !== erc20.wallet) return [];
    const sender = topicAddress(from);
    return authorizers.has(sender) ? [] : [{ sender, recipient: erc20.wallet, quantity: BigInt(data) }];
  });
  const [only] = transfers;
  if (only === undefined || transfers.length > 1) {
    return { sender: address(requireText(transaction, 'from')), recipient: '', quantity: 0n };
  }
  return { ...only, destination: destinationOf(transaction, only, erc20) };
}

/**
 * Whom the payer names: only the bytes behind a `transfer` that the payer sent to the token. Any other transaction is
 * written by somebody else as well (a bundler and other users of an account abstraction bundle, whoever holds an
 * allowance, a contract), and none of them may name the wallet that is credited for this payer's tokens.
 */
function destinationOf(
  transaction: Record<string, unknown>,
  { sender, quantity }: Transfer,
  { contract, wallet }: Erc20,
): string | undefined {
  if (typeof transaction.to !== 'string' || address(transaction.to) !== contract) return undefined;
  if (address(requireText(transaction, 'from')) !== sender) return undefined;
  const call = Buffer.from(
    TRANSFER_SELECTOR + evmWord(wallet) + quantity.toString(16).padStart(64, '0'),
    'hex',
  );
  const data = calldata(transaction);
  if (!data.subarray(0, call.length).equals(call)) return undefined;
  return destinationIn(data.subarray(call.length).toString('utf8'));
}

interface Log {
  readonly topics: readonly string[];
  readonly data: string;
}

function logsOf(receipt: Record<string, unknown>, contract: string): Log[] {
  const logs: unknown[] = Array.isArray(receipt.logs) ? receipt.logs : [];
  return logs.flatMap((log) => {
    if (!isRecord(log) || !Array.isArray(log.topics)) return [];
    if (address(requireText(log, 'address')) !== contract) return [];
    return [
      { topics: log.topics.map((topic) => String(topic).toLowerCase()), data: requireText(log, 'data') },
    ];
  });
}

const calldata = (transaction: Record<string, unknown>): Buffer =>
  Buffer.from(String(transaction.input ?? transaction.data ?? '0x').slice(2), 'hex');

const topicAddress = (topic: string | undefined): string => address(`0x${(topic ?? '').slice(-40)}`);

/** Endpoints differ in letter case; the normal form has its checksum. */
function address(text: string): string {
  const parsed = parseEthereumAddress(text.toLowerCase());
  if (parsed === undefined) throw new Error('the endpoint answered no address');
  return parsed;
}

function toSafeNumber(answer: unknown): number {
  const number = typeof answer === 'string' && /^0x[0-9a-fA-F]+$/.test(answer) ? Number(BigInt(answer)) : -1;
  if (!Number.isSafeInteger(number) || number < 0) throw new Error('the endpoint answered no block number');
  return number;
}
