/** A started ledger on a free port with a clock the test moves, and wallets to use it with. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBase58 } from '../../formats/base58.ts';
import { antAddresses } from '../../formats/solana/accounts-ant.ts';
import { arnsAddresses, arnsConfig } from '../../formats/solana/accounts-arns.ts';
import { antProgramTrait } from '../../formats/solana/core-asset.ts';
import { createAsset } from '../../formats/solana/core-instructions.ts';
import { antBuilder } from '../../formats/solana/instructions-ant.ts';
import { arnsBuilder } from '../../formats/solana/instructions-arns.ts';
import { compileMessage, type Instruction, parseMessage } from '../../formats/solana/message.ts';
import { type NamePrograms, namePrograms } from '../../formats/solana/programs.ts';
import { transferLamports } from '../../formats/solana/system.ts';
import { serializeTransaction, signersOf } from '../../formats/solana/transaction.ts';
import { silentLog } from '../../kernel/testing.ts';
import { signEd25519 } from '../../wallets/solana/ed25519.ts';
import { type Keypair, keypairOf } from './genesis.ts';
import type { SignatureStatus } from './ledger.ts';
import { createLocalSolana, type LocalSolana, type LocalSolanaDeps } from './local-solana.ts';

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
      { LOCAL_NETWORK_HOST: '127.0.0.1', LOCAL_SOLANA_PORT: 0, DATA_DIR: this.folder },
      { log: silentLog, now: () => this.time, upkeepIntervalMs: 0, ...this.#deps },
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

  get programs(): NamePrograms {
    return this.#deps.programs ?? namePrograms.mainnet;
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

const anyId = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';

/** Where the ledger has the token program a second time. */
export const secondAntProgram = namePrograms.devnet.ant;

/** Mints a token owned by `holder` and leases it a name; the service pays and may write its records. */
export async function registerName(
  test: TestLedger,
  service: Keypair,
  holder: Keypair,
  name: string,
  target: string = anyId,
  programs: NamePrograms = namePrograms.mainnet,
): Promise<Keypair> {
  const { ledger } = test.local;
  const ant = antBuilder(programs);
  const at = antAddresses(programs.ant);
  const asset = wallet(`asset of ${name}`);
  for (const user of new Set([service.address, holder.address])) {
    if (ledger.accounts.has(at.aclConfig(user).address)) continue;
    const place = { user, page: 0n };
    await test.send(
      [ant.registerAclConfig(user, service.address), ant.addAclPage(place, service.address)],
      service,
    );
  }
  await test.send(
    [
      transferLamports(service.address, holder.address, 9_472_560n),
      createAsset({
        asset: asset.address,
        payer: service.address,
        owner: holder.address,
        updateAuthority: at.authority(asset.address).address,
        name,
        uri: `ar://${anyId}`,
        traits: [{ key: antProgramTrait, value: programs.ant }],
      }),
      ant.initialize(asset.address, holder.address, {
        name,
        ticker: undefined,
        target,
        protocol: undefined,
        logo: '',
        description: '',
        keywords: [],
      }),
      ant.aclEntry('recordAclOwner', asset.address, { user: holder.address, page: 0n }, service.address),
      ant.addController(asset.address, holder.address, { user: service.address, page: 0n }),
    ],
    service,
    asset,
    holder,
  );
  const config = arnsConfig.decode(ledger.accounts.get(arnsAddresses(programs.arns).config().address).data);
  const lease = { name, type: 'lease' as const, years: 1, ant: asset.address };
  await test.send([arnsBuilder(programs, config.treasury).buyName(service.address, lease)], service);
  return asset;
}
