/** A facilitator of its own for each test, and payments signed as a wallet signs them. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { memberOf } from '../../formats/json.ts';
import { findX402Network } from '../../formats/x402/networks.ts';
import { writeAuthorization, writePermit } from '../../formats/x402/payment.ts';
import { upToContract } from '../../formats/x402/permit2.ts';
import { examplePayment } from '../../formats/x402/testing.ts';
import { silentLog } from '../../kernel/testing.ts';
import { ethereumAddress } from '../../wallets/ethereum/address.ts';
import { permitDigest } from '../../wallets/ethereum/permit2.ts';
import { signEthereumDigest } from '../../wallets/ethereum/personal-message.ts';
import { publicKeyOf } from '../../wallets/ethereum/secp256k1.ts';
import { transferDigest } from '../../wallets/ethereum/transfer-authorization.ts';
import { createLocalFacilitator, type LocalFacilitator } from './local-facilitator.ts';

export interface FacilitatorForTest {
  readonly facilitator: LocalFacilitator;
  readonly payTo: string;
  /** By whom permits are carried out. */
  address(): Promise<string>;
  call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Record<string, unknown>>;
  status(method: 'GET' | 'POST', path: string, body?: unknown): Promise<number>;
  mint(address: string, amount: bigint): Promise<void>;
  balance(address: string): Promise<unknown>;
  restart(): Promise<FacilitatorForTest>;
}

export async function startFacilitator(context: TestContext): Promise<FacilitatorForTest> {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnpike-x402-'));
  let current: LocalFacilitator | undefined;
  context.after(async () => {
    await current?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const start = async (): Promise<FacilitatorForTest> => {
    const facilitator = createLocalFacilitator(
      {
        LOCAL_NETWORK_HOST: '127.0.0.1',
        LOCAL_X402_PORT: 0,
        DATA_DIR: dataDir,
        X402_NETWORKS: ['base-sepolia'],
      },
      { log: silentLog },
    );
    current = facilitator;
    await facilitator.start();
    const send = (method: string, path: string, body?: unknown) =>
      fetch(`${facilitator.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const call: FacilitatorForTest['call'] = async (method, path, body) => {
      const answer: Record<string, unknown> = JSON.parse(await (await send(method, path, body)).text());
      return answer;
    };
    return {
      facilitator,
      payTo: facilitator.payTo,
      address: async () => {
        const { signers } = await call('GET', '/supported');
        const listed = memberOf(signers, 'eip155:*');
        return String(Array.isArray(listed) ? listed[0] : '');
      },
      call,
      status: async (method, path, body) => (await send(method, path, body)).status,
      async mint(address, amount) {
        await call('POST', '/mint', { address, amount: amount.toString() });
      },
      balance: async (address) => (await call('GET', `/balance/${address}`)).balance,
      async restart() {
        await facilitator.stop();
        return start();
      },
    };
  };
  return start();
}

export interface PaymentOptions {
  readonly version?: 1 | 2;
  readonly network?: string;
  readonly payTo: string;
  readonly value?: bigint;
  readonly validAfter?: bigint;
  readonly validBefore?: bigint;
  readonly nonce?: string;
  readonly privateKey?: Uint8Array;
  /** Where the requirement differs from what is signed. */
  readonly required?: { readonly payTo?: string; readonly amount?: bigint; readonly asset?: string };
  /** Changed after signing. */
  readonly tamper?: Readonly<Record<string, string>>;
}

/** A signed payment as the body of `/verify` and `/settle`; `paymentPayload` is also what the header carries. */
export function signPayment(options: PaymentOptions) {
  const { version = 1, payTo, privateKey = examplePayment.privateKey, required = {} } = options;
  const network = findX402Network(options.network ?? 'base-sepolia');
  if (network === undefined) throw new Error('unknown network');
  const authorization = {
    from: ethereumAddress(publicKeyOf(privateKey)),
    to: payTo,
    value: options.value ?? 1_000_000n,
    validAfter: options.validAfter ?? 0n,
    validBefore: options.validBefore ?? BigInt(Math.floor(Date.now() / 1000) + 300),
    nonce: options.nonce ?? `0x${randomBytes(32).toString('hex')}`,
  };
  const signature = `0x${signEthereumDigest(transferDigest(authorization, network), privateKey).toString('hex')}`;
  const name = version === 1 ? (network.name ?? network.caip2) : network.caip2;
  const amount = (required.amount ?? authorization.value).toString();
  const requirement = {
    scheme: 'exact',
    network: name,
    payTo: required.payTo ?? payTo,
    asset: required.asset ?? network.asset,
    maxTimeoutSeconds: 300,
    extra: { name: network.tokenName, version: network.tokenVersion },
  };
  const paymentRequirements =
    version === 1
      ? { ...requirement, maxAmountRequired: amount, resource: 'http://x', description: '', mimeType: '' }
      : { ...requirement, amount };
  const payload = {
    signature,
    authorization: { ...writeAuthorization(authorization), nonce: authorization.nonce, ...options.tamper },
  };
  const paymentPayload =
    version === 1
      ? { x402Version: 1, scheme: 'exact', network: name, payload }
      : { x402Version: 2, accepted: paymentRequirements, payload };
  return { x402Version: version, paymentPayload, paymentRequirements };
}

export interface PermitOptions {
  readonly payTo: string;
  readonly facilitator: string;
  /** The most that may be taken. */
  readonly value?: bigint;
  readonly validAfter?: bigint;
  readonly deadline?: bigint;
  /** Decimal. */
  readonly nonce?: string;
  readonly spender?: string;
  readonly token?: string;
  readonly privateKey?: Uint8Array;
  /** What is to be taken, or what the requirement says; all of it unless given. */
  readonly amount?: bigint;
  /** Changed after signing. */
  readonly tamper?: { readonly amount?: string; readonly to?: string };
}

/** The same for a payment up to an amount: what is asked of the facilitator is to take `amount` of it. */
export function signPermit(options: PermitOptions) {
  const { payTo, privateKey = examplePayment.privateKey } = options;
  const network = findX402Network('base-sepolia');
  if (network === undefined) throw new Error('unknown network');
  const nonce = BigInt(options.nonce ?? `0x${randomBytes(32).toString('hex')}`);
  const authorization = {
    from: ethereumAddress(publicKeyOf(privateKey)),
    to: payTo,
    value: options.value ?? 1_000_000n,
    validAfter: options.validAfter ?? 0n,
    validBefore: options.deadline ?? BigInt(Math.floor(Date.now() / 1000) + 300),
    nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
  };
  const permit = {
    token: options.token ?? network.asset,
    spender: options.spender ?? upToContract,
    facilitator: options.facilitator,
  };
  const digest = permitDigest(authorization, permit, network.chainId);
  const signature = `0x${signEthereumDigest(digest, privateKey).toString('hex')}`;
  const requirement = {
    scheme: 'upto',
    network: network.caip2,
    payTo,
    asset: network.asset,
    maxTimeoutSeconds: 300,
    extra: {
      name: network.tokenName,
      version: network.tokenVersion,
      assetTransferMethod: 'permit2',
      facilitatorAddress: options.facilitator,
    },
  };
  const { amount: changedAmount, to: changedTo } = options.tamper ?? {};
  const written = writePermit(authorization, permit);
  const permit2Authorization = {
    ...written,
    permitted: { ...written.permitted, ...(changedAmount !== undefined && { amount: changedAmount }) },
    witness: { ...written.witness, ...(changedTo !== undefined && { to: changedTo }) },
  };
  const most = { ...requirement, amount: authorization.value.toString() };
  return {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: most, payload: { signature, permit2Authorization } },
    paymentRequirements: { ...requirement, amount: (options.amount ?? authorization.value).toString() },
  };
}
