/** Ethereum and its kin through JSON-RPC: the native coin, or one ERC-20 token. */
import { parseEthereumAddress } from '../../wallets/ethereum/address.ts';
import { type ChainReader, type ChainTransaction, destinationIn, type Transfer } from './chain.ts';
import { callRpc, isRecord, textMember } from './http.ts';

export interface EvmReaderOptions {
  readonly rpcUrl: string;
  readonly minConfirmations: number;
  /** ERC-20 only: the token's contract, and the wallet whose incoming transfer counts. */
  readonly erc20?: { readonly contract: string; readonly wallet: string };
}

/** keccak256("Transfer(address,address,uint256)") */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** keccak256("AuthorizationUsed(address,bytes32)"), EIP-3009 */
const AUTHORIZATION_USED_TOPIC = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';
/** Selector and two words: what follows `transfer(address,uint256)` is the payer's memo. */
const TRANSFER_CALL_BYTES = 68;

export function evmReader({ rpcUrl, minConfirmations, erc20 }: EvmReaderOptions): ChainReader {
  return {
    parseId: (text) => (/^0x[0-9a-fA-F]{64}$/.test(text) ? text.toLowerCase() : undefined),
    async read(id) {
      const transaction = await callRpc(rpcUrl, 'eth_getTransactionByHash', [id]);
      if (transaction === null) return { state: 'not-found' };
      if (!isRecord(transaction)) throw new Error('the endpoint answered no transaction');
      const receipt = await callRpc(rpcUrl, 'eth_getTransactionReceipt', [id]);
      if (receipt === null || !isRecord(receipt)) return waiting(transaction, erc20 !== undefined);
      return mined(transaction, receipt);
    },
  };

  /** Not in a block: a native transfer can be read, a token's is known only by its log. */
  function waiting(transaction: Record<string, unknown>, isToken: boolean): ChainTransaction {
    if (isToken) return { state: 'unreadable' };
    return { state: 'pending', transfer: nativeTransfer(transaction) };
  }

  async function mined(
    transaction: Record<string, unknown>,
    receipt: Record<string, unknown>,
  ): Promise<ChainTransaction> {
    const blockHeight = toSafeNumber(textMember(receipt, 'blockNumber'));
    const base =
      erc20 === undefined ? nativeTransfer(transaction) : tokenTransfer(transaction, receipt, erc20);
    const transfer = { ...base, blockHeight };
    const head = await callRpc(rpcUrl, 'eth_blockNumber', []);
    if (typeof head !== 'string') throw new Error('the endpoint answered no block number');
    const confirmations = toSafeNumber(head) - blockHeight + 1;
    // The block may still be replaced by one in which the transaction has another end.
    if (confirmations < minConfirmations) return { state: 'pending', transfer };
    // A reverted transaction still has a value and a receipt; only its status tells that nothing moved.
    return { state: textMember(receipt, 'status') === '0x1' ? 'confirmed' : 'reverted', transfer };
  }
}

function nativeTransfer(transaction: Record<string, unknown>): Transfer {
  return {
    sender: address(textMember(transaction, 'from')),
    // Without a recipient it makes a contract; nobody of ours is paid.
    recipient: typeof transaction.to === 'string' ? address(transaction.to) : '',
    quantity: BigInt(textMember(transaction, 'value')),
    destination: destinationIn(calldata(transaction).toString('utf8')),
  };
}

/**
 * Exactly one transfer of the token to the wallet; none or several are no payment that can be told. A transfer by
 * authorisation is how x402 pays, and is credited there: the wallets of both may be one.
 */
function tokenTransfer(
  transaction: Record<string, unknown>,
  receipt: Record<string, unknown>,
  { contract, wallet }: { readonly contract: string; readonly wallet: string },
): Transfer {
  const logs = Array.isArray(receipt.logs) ? receipt.logs : [];
  const transfers = logs.flatMap((log) => {
    if (!isRecord(log) || !Array.isArray(log.topics) || log.topics.length !== 3) return [];
    const [topic, from, to] = log.topics.map(String);
    if (topic !== TRANSFER_TOPIC || address(textMember(log, 'address')) !== contract) return [];
    const recipient = topicAddress(to);
    return recipient === wallet
      ? [{ sender: topicAddress(from), recipient, quantity: BigInt(textMember(log, 'data')) }]
      : [];
  });
  const [only] = transfers;
  const sender = address(textMember(transaction, 'from'));
  if (only === undefined || transfers.length > 1 || logs.some((log) => isAuthorized(log, contract)))
    return { sender, recipient: '', quantity: 0n };
  const memo = calldata(transaction).subarray(TRANSFER_CALL_BYTES).toString('utf8');
  return { ...only, destination: destinationIn(memo) };
}

const isAuthorized = (log: unknown, contract: string): boolean =>
  isRecord(log) &&
  Array.isArray(log.topics) &&
  log.topics[0] === AUTHORIZATION_USED_TOPIC &&
  address(textMember(log, 'address')) === contract;

const calldata = (transaction: Record<string, unknown>): Buffer =>
  Buffer.from(String(transaction.input ?? transaction.data ?? '0x').slice(2), 'hex');

const topicAddress = (topic: string | undefined): string => address(`0x${(topic ?? '').slice(-40)}`);

/** Endpoints differ in letter case; the normal form has its checksum. */
function address(text: string): string {
  const parsed = parseEthereumAddress(text.toLowerCase());
  if (parsed === undefined) throw new Error('the endpoint answered no address');
  return parsed;
}

function toSafeNumber(hex: string): number {
  const number = Number(BigInt(hex));
  if (!Number.isSafeInteger(number)) throw new Error(`${hex} is no block number`);
  return number;
}
