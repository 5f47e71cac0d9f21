/**
 * Whether bytes are those that were signed under their id: the data root of a transaction whose signature is right, or
 * the signature of a data item over them. What cannot be proven so (an unusual split, tags in an unusual form) may be
 * right all the same.
 */

import { signatureLayout } from '../formats/ans104/signature-types.ts';
import { signedMessage } from '../formats/ans104/signed-message.ts';
import { DataRootBuilder } from '../formats/arweave/data-root.ts';
import { parseTransactionJson } from '../formats/arweave/transaction-json.ts';
import { verifyTransactionAsync } from '../formats/arweave/transaction-signature.ts';
import { encodeTags } from '../formats/avro-tags.ts';
import { decodeBase64url, tryDecodeBase64url } from '../formats/base64url.ts';
import { DeepHashBlob } from '../formats/deep-hash.ts';
import { FormatError } from '../formats/format-error.ts';
import { isCount, isRecord, textOf } from '../formats/json.ts';
import { itemOwner } from '../wallets/data-items/owner.ts';
import type { ForkedHeader } from './transactions.ts';

/** Takes the bytes as they come. */
export class ContentProof {
  readonly #root = new DataRootBuilder();
  readonly #hash = new DeepHashBlob();

  update(bytes: Uint8Array): void {
    this.#root.update(bytes);
    this.#hash.update(bytes);
  }

  /** The header is one whose signature the id is the hash of. Nothing may follow. */
  async holds(header: ForkedHeader): Promise<boolean> {
    try {
      return isCount(header.signature_type) ? this.#holdsItem(header) : await this.#holdsTransaction(header);
    } catch (error) {
      if (error instanceof FormatError) return false;
      throw error;
    }
  }

  async #holdsTransaction(header: ForkedHeader): Promise<boolean> {
    const transaction = parseTransactionJson(header);
    const { format, owner, dataSize, dataRoot } = transaction;
    // Version 1 and signatures without an owner leave a choice of the fields.
    if (format !== 2 || owner.length === 0 || dataSize !== this.#hash.length) return false;
    return this.#root.finish().root.equals(dataRoot) && (await verifyTransactionAsync(transaction));
  }

  #holdsItem(header: ForkedHeader): boolean {
    const layout = isCount(header.signature_type) ? signatureLayout(header.signature_type) : undefined;
    const field = (name: string) => tryDecodeBase64url(textOf(header, name) ?? '') ?? Buffer.alloc(0);
    const [owner, signature] = [field('owner'), field('signature')];
    if (layout?.ownerBytes !== owner.length || layout.signatureBytes !== signature.length) return false;
    const tags = Array.isArray(header.tags) ? header.tags.filter(isRecord) : [];
    const tagBytes = encodeTags(
      tags.map(({ name, value }) => ({
        name: decodeBase64url(String(name)),
        value: decodeBase64url(String(value)),
      })),
    );
    const signer = itemOwner(layout.type, owner);
    const fields = { target: field('target'), anchor: field('last_tx'), tagBytes };
    return signer.verify(signedMessage(signer.prefix, fields, this.#hash.digest()), signature, {
      lenient: true,
    });
  }
}
