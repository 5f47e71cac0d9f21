/** Verifies the proof of an item (`GET /v1/tx/{id}/proof`) by nothing but itself and, where it is there, the item's data. */
import { open } from 'node:fs/promises';
import { Value } from 'typebox/value';
import { type ItemHeader, parseItemHeader } from '../../formats/ans104/item-header.ts';
import {
  blockProblem,
  type ItemProof,
  inclusionProblem,
  itemProof,
} from '../../formats/ans104/item-proof.ts';
import { parseTransactionJson } from '../../formats/arweave/transaction-json.ts';
import { verifyTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { decodeBase64url, toTxId } from '../../formats/base64url.ts';
import { DeepHashBlob } from '../../formats/deep-hash.ts';
import { tryParseJson } from '../../formats/json.ts';
import { receiptSigner, type SignedReceipt } from '../../formats/receipt.ts';
import { StartupError } from '../../kernel/errors.ts';
import { verifyStreamed } from '../../wallets/data-items/verify.ts';

export interface ProofFinding {
  readonly what: 'receipt' | 'item' | 'bundle' | 'block';
  readonly state: 'proven' | 'wrong' | 'not checked';
  readonly note: string;
}

/** `data`: the file of the item's data, without its header. */
export async function verifyProof(text: string, data: string | undefined): Promise<ProofFinding[]> {
  const json = tryParseJson(text);
  if (!Value.Check(itemProof, json)) throw new StartupError('this is no proof of an item');
  const proof: ItemProof = json;
  const header = parseItemHeader(decodeBase64url(proof.item.header), { lenient: true });
  if (typeof header === 'string') throw new StartupError(`the item's header cannot be read: ${header}`);
  return [
    await receiptFinding(proof),
    ...(await (data === undefined ? withoutData(proof, header) : withData(proof, header, data))),
  ];
}

async function receiptFinding({ id, receipt }: ItemProof): Promise<ProofFinding> {
  const signer = await receiptSigner(receipt as unknown as SignedReceipt).catch(() => undefined);
  if (receipt.id !== id || signer === undefined) {
    return { what: 'receipt', state: 'wrong', note: 'its signature does not fit' };
  }
  const until = `in a bundle by height ${String(receipt.deadlineHeight)}`;
  return { what: 'receipt', state: 'proven', note: `signed by ${signer}: ${until}` };
}

function withoutData(proof: ItemProof, header: ItemHeader): ProofFinding[] {
  if (header.id !== proof.id)
    return [{ what: 'item', state: 'wrong', note: 'its header is that of another item' }];
  const note = 'give the data of the item to have it checked';
  return [
    { what: 'item', state: 'not checked', note },
    { what: 'bundle', state: 'not checked', note },
  ];
}

async function withData(proof: ItemProof, header: ItemHeader, path: string): Promise<ProofFinding[]> {
  const file = await open(path).catch(() => {
    throw new StartupError(`there is no file ${path}`);
  });
  try {
    const { size } = await file.stat();
    const deep = new DeepHashBlob();
    for await (const bytes of file.createReadStream({ autoClose: false, start: 0 })) deep.update(bytes);
    const end = { header, dataHash: deep.digest(), payloadBytes: size };
    const fits =
      header.id === proof.id &&
      header.length + size === proof.item.size &&
      verifyStreamed(end, { lenient: true });
    const item: ProofFinding = fits
      ? { what: 'item', state: 'proven', note: `signed by ${header.ownerAddress}` }
      : { what: 'item', state: 'wrong', note: `${path} is not what its owner signed` };
    if (!fits) return [item];
    const bytesOf = async (from: number, to: number): Promise<Buffer> => {
      const own = header.bytes.subarray(from, Math.min(to, header.length));
      const start = Math.max(0, from - header.length);
      const length = Math.max(0, to - header.length - start);
      const payload = Buffer.alloc(length);
      if (length > 0) await file.read(payload, 0, length, start);
      return Buffer.concat([own, payload]);
    };
    return [item, ...(await bundleFindings(proof, bytesOf))];
  } finally {
    await file.close();
  }
}

async function bundleFindings(
  proof: ItemProof,
  bytesOf: (from: number, to: number) => Promise<Buffer>,
): Promise<ProofFinding[]> {
  const { bundle } = proof;
  if (bundle === undefined)
    return [{ what: 'bundle', state: 'not checked', note: 'it is not on the chain yet' }];
  let dataRoot: Buffer;
  try {
    const transaction = parseTransactionJson(bundle.transaction);
    const isRight =
      toTxId(transaction.id) === bundle.id &&
      transaction.dataSize === bundle.size &&
      (await verifyTransactionAsync(transaction));
    if (!isRight) throw new Error('its signature does not fit');
    dataRoot = transaction.dataRoot;
  } catch {
    return [{ what: 'bundle', state: 'wrong', note: 'its transaction is not signed, or is another one' }];
  }
  const problem = await inclusionProblem(proof, bundle, dataRoot, bytesOf);
  if (problem !== undefined) return [{ what: 'bundle', state: 'wrong', note: problem }];
  const lies: ProofFinding = {
    what: 'bundle',
    state: 'proven',
    note: `in ${bundle.id}, from byte ${bundle.offset}`,
  };
  if (bundle.block === undefined)
    return [lies, { what: 'block', state: 'not checked', note: 'none is named yet' }];
  const wrong = blockProblem(bundle, dataRoot);
  const { height, id } = bundle.block;
  return [
    lies,
    wrong === undefined
      ? {
          what: 'block',
          state: 'proven',
          note: `in the block ${id} at height ${height}, which any node can tell`,
        }
      : { what: 'block', state: 'wrong', note: wrong },
  ];
}
