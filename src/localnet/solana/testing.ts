/** A started ledger on a free port with a clock the test moves, and wallets to use it with. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBase58 } from '../../formats/base58.ts';
import { compileMessage, type Instruction, parseMessage } from '../../formats/solana/message.ts';
import { serializeTransaction, signersOf } from '../../formats/solana/transaction.ts';
import { createLogger } from '../../kernel/log.ts';
import { signEd25519 } from '../../wallets/solana/ed25519.ts';
import { type Keypair, keypairOf } from './genesis.ts';
import { createLocalSolana, type LocalSolana, type LocalSolanaDeps } from './index.ts';
import type { SignatureStatus } from './ledger.ts';

export const silent = createLogger({ name: 'test', level: 'silent', format: 'json' });

/** The same wallet for the same name, every time. */
export function wallet(name: string): Keypair {
  return keypairOf(createHash('sha256').update(name).digest());
}

/** The wire form, signed by whom it asks for. */
export function signed(
  blockhash: string,
  instructions: readonly Instruction[],
  ...signers: readonly Keypair[]
): Buffer {
  const messageBytes = compileMessage({ feePayer: signers[0]!.address, blockhash, instructions });
  const signatures = signersOf(parseMessage(messageBytes)).map((address) => {
    const signer = signers.find((key) => key.address === address);
    if (signer === undefined) throw new Error(`nobody signs for ${address}`);
    return signEd25519(signer.privateKey, messageBytes);
  });
  return serializeTransaction(signatures, messageBytes);
}

export class TestLedger {
  readonly folder: string;
  /** Unix milliseconds. */
  time = Date.UTC(2026, 0, 1);
  local: LocalSolana;
  readonly #deps: Partial<LocalSolanaDeps>;

  private constructor(deps: Partial<LocalSolanaDeps>) {
    this.folder = mkdtempSync(join(tmpdir(), 'turnpike-solana-'));
    this.#deps = deps;
    this.local = this.#create();
  }

  static async start(deps: Partial<LocalSolanaDeps> = {}): Promise<TestLedger> {
    const test = new TestLedger(deps);
    await test.local.start();
    return test;
  }

  #create(): LocalSolana {
    return createLocalSolana(
      { HOST: '127.0.0.1', LOCAL_SOLANA_PORT: 0, DATA_DIR: this.folder },
      { log: silent, now: () => this.time, crankIntervalMs: 0, ...this.#deps },
    );
  }

  async restart(): Promise<void> {
    await this.local.stop();
    this.local = this.#create();
    await this.local.start();
  }

  async stop(): Promise<void> {
    await this.local.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get blockhash(): string {
    const { slots } = this.local.ledger;
    return slots.blockhash(slots.now().slot);
  }

  /** Moves the clock by whole slots. */
  skip(slots: number): void {
    this.time += slots * 400;
  }

  skipSeconds(seconds: number): void {
    this.time += seconds * 1000;
  }

  /** Submits with the first signer as fee payer. Each call is a slot of its own, so no two are the same. */
  async send(instructions: readonly Instruction[], ...signers: readonly Keypair[]): Promise<SignatureStatus> {
    this.skip(1);
    return this.local.ledger.submit(signed(this.blockhash, instructions, ...signers), true);
  }

  /** The same without preflight: a failing one is taken and pays its fee. */
  async sendAnyway(
    instructions: readonly Instruction[],
    ...signers: readonly Keypair[]
  ): Promise<SignatureStatus> {
    this.skip(1);
    return this.local.ledger.submit(signed(this.blockhash, instructions, ...signers), false);
  }

  async rpc(method: string, ...params: unknown[]): Promise<unknown> {
    const response = await fetch(this.local.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const answer: { result?: unknown; error?: unknown } = JSON.parse(await response.text());
    if (answer.error !== undefined) throw Object.assign(new Error('rpc error'), { rpc: answer.error });
    return answer.result;
  }

  balance(key: Keypair): bigint {
    return this.local.ledger.accounts.get(key.address).lamports;
  }
}

export function signatureOf(wire: Buffer): string {
  return encodeBase58(wire.subarray(1, 65));
}
