import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { encodeItem, itemMessage, parseItem } from '../../formats/ans104/item.ts';
import type { ItemHeaderSource } from '../../formats/ans104/item-header.ts';
import { messagePrefix, signedMessage } from '../../formats/ans104/signed-message.ts';
import { encodeTags } from '../../formats/avro-tags.ts';
import { deepHashBlob } from '../../formats/deep-hash.ts';
import { ed25519RawPublicKey } from '../solana/ed25519.ts';
import { ed25519TestKey, testArweaveKey, testEd25519Key, testEthereumKey } from '../testing/keys.ts';
import { itemOwner, typedItemDigest } from './owner.ts';
import {
  aptosSigner,
  arweaveSigner,
  ed25519Signer,
  ethereumSigner,
  type ItemContents,
  multiAptosSigner,
  signItem,
  solanaSigner,
  typedEthereumSigner,
} from './signer.ts';
import { verifyItem } from './verify.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();
const tags = [
  { name: 'Content-Type', value: 'text/plain' },
  { name: 'App-Name', value: 'vector' },
];
const contents: ItemContents = { data: Buffer.from('hello, permaweb'), tags };

const signers = {
  arweave: arweaveSigner(testArweaveKey, { saltLength: 0 }),
  ed25519: ed25519Signer(testEd25519Key),
  ethereum: ethereumSigner(testEthereumKey),
  solana: solanaSigner(testEd25519Key),
  aptos: aptosSigner(testEd25519Key),
  multiAptos: multiAptosSigner([testEd25519Key, ed25519TestKey('b'), ed25519TestKey('c')], 2),
  typedEthereum: typedEthereumSigner(testEthereumKey),
};

function read(bytes: Buffer) {
  const item = parseItem(bytes);
  assert.ok(typeof item !== 'string', String(item));
  return item;
}

function verdict(bytes: Buffer, options = {}): string {
  const result = verifyItem(bytes, options);
  return typeof result === 'string' ? result : 'valid';
}

describe('items have the bytes, messages and ids that the reference library makes', () => {
  const vectors = [
    {
      name: 'type 1',
      signer: signers.arweave,
      contents,
      size: 1101,
      message:
        '7a2e99b9447dfba408913ad9a93f0efbc4de113f375ed1d7c74097ccc4fab107ab0c4bb6decdaba08942c2c7c318969c',
      id: 'Tnm2sZ8kLuEgWrMyhMHe2MgOLTfa-T88_adcIG7IQsI',
      whole: '9e797877eeed7bcacab0761d73b17632df24ec1ce0a19b2f02cd4e0be008f78f',
      wallet: 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM',
      owner: 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM',
    },
    {
      name: 'type 1 with target and anchor',
      signer: signers.arweave,
      contents: {
        ...contents,
        target: Buffer.alloc(32, 7),
        anchor: Buffer.from('0123456789abcdef0123456789abcdef'),
      },
      size: 1165,
      message:
        '406ff2914da3fdbcfe4b96952c767a0052a2032ee8c3038878e3b608df3b351539ef8cee8e9c1d2c00d83bb9ac1c055c',
      id: 'ho4dG-CRnNASAlFsIhKlJbly8GjN3iX0jV2BhFXAFso',
    },
    {
      name: 'type 1 without tags and data',
      signer: signers.arweave,
      contents: { data: Buffer.alloc(0) },
      size: 1044,
      message:
        'e5a15a3af8b58b5aa46f0ae5924986e9de32e9fd7708331215146c36af2e9fd05e477b88ceccdce5d9dcb17b845c669d',
      id: 'sYCPT9hHUlXDeP8i4uOLGZ2lQxUkWnpCCrh5fVlzj5k',
    },
    {
      name: 'type 2',
      signer: signers.ed25519,
      contents,
      size: 173,
      message:
        '489329c861231129e1a85d7a58b33f9abba4844154bf654500fb284a74013cfea730748621c3d6a961bd5e8e6cd162ec',
      id: 'N6FWgBRLAH6tSzVSFociICJQaSev4FefL7JSQ5917ck',
      whole: '57010bd30c79987eae227561640314f0f7c27c2ec439337212b84e1095b31e19',
      wallet: 'DNzem74XkMPVpe32JBGiioRHwBrywPV2JxF9jAmysZhk',
      owner: 'q36XGnjJYGvJ-PQ_ho-_oogb1FGmAe3TYA2WxD_IYAI',
    },
    {
      name: 'type 3',
      signer: signers.ethereum,
      contents,
      size: 207,
      message:
        'aaf79b40f7d3074aad350f74ac03fa3b63394348b11c9a84627b359313f466318cf12194c65fb2cb70dda5291665a901',
      id: 'AM39O8rkVDRJXaWPFkyiV56hMTBTadAyeWzy2gaKV14',
      wallet: '0x0D1AbA365fCF624b9E18b66D88C458978897E2c5',
      owner: 'yXijhjTZoT4D8Him6C7wzRcIr_8PtLXVyO5Ggo5mJXU',
      signature:
        '193a0ccc3c93a2cf403f3f550d4e55ca750119598df512486b5bc58594c07053100c3b81c995708fb092f0f5cfdad462c98ed16caa110247fac65cc38cb572811b',
    },
    {
      name: 'type 4',
      signer: signers.solana,
      contents,
      size: 173,
      message:
        '4eca1c54f372d081e81bb0798766903dbdc51b5b8572887fae39235ed505873e7e696a4ca0ddd10569653320ca9fde11',
      id: 'VE167e3oYO1GliftO2YXrYQE7VffQKphiuJu35U-Ga8',
      whole: 'ab6d53364637cdaac1fad6e20bd3ae92fff85b6e103b90ea3ce40dd72b648ae2',
      wallet: 'DNzem74XkMPVpe32JBGiioRHwBrywPV2JxF9jAmysZhk',
    },
    {
      name: 'type 7',
      signer: signers.typedEthereum,
      contents,
      size: 184,
      message:
        '885f547ad0fc0db30438b99b7a87edc7816cf6384c02a145419d3a36ea2ccf23e27d3e64d471090080dabf09bc1676e6',
      id: '8JR2-Tw7A8DpOkSuTSa4IGiR8h0XbfBNxpJOI3GaUvY',
      wallet: '0x0D1AbA365fCF624b9E18b66D88C458978897E2c5',
      owner: 'CLcmAjz6CH4IDglP97lz4cIuNfVBMTqh1xOgqXyCs6A',
      signature:
        '6cce4658d483d63d188b29c07a88651242e4e28746a0c60baebb346345659d055a71511f90b8bc80b4db87744302e837b78e5785bf2828d4a592c33ebc04563b1b',
    },
  ];
  for (const vector of vectors) {
    test(vector.name, async () => {
      const bytes = await signItem(vector.contents, vector.signer);
      const item = read(bytes);
      const owner = itemOwner(item.header.signatureType, item.header.owner);
      assert.equal(bytes.length, vector.size);
      assert.equal(itemMessage(item).toString('hex'), vector.message);
      assert.equal(itemMessage(item, owner.prefix).toString('hex'), vector.message);
      assert.equal(item.header.id, vector.id);
      assert.equal(verdict(bytes), 'valid');
      if (vector.whole !== undefined) assert.equal(sha256(bytes).toString('hex'), vector.whole);
      if (vector.wallet !== undefined) assert.equal(owner.wallet.address, vector.wallet);
      if (vector.owner !== undefined) assert.equal(item.header.ownerAddress, vector.owner);
      if (vector.signature !== undefined)
        assert.equal(item.header.signature.toString('hex'), vector.signature);
    });
  }

  test('the EIP-712 digest of type 7', () => {
    const message = Buffer.from(vectors[6]!.message, 'hex');
    assert.equal(
      Buffer.from(typedItemDigest(message, '0x0d1aba365fcf624b9e18b66d88c458978897e2c5')).toString('hex'),
      '1db93c520ef51a3fa6923c6dc6376deaf6c77762514bda701d2290ae87ff0186',
    );
  });

  test('messages of types 1, 5 and 6 for an owner that no key stands behind', () => {
    const owner = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256));
    const expected = {
      1: '8d0d33faee52c185402e7a90372ebc2f4e500de804712bf20528041b2364331f43ecbbe72d0cba97e1faf9d1b7ef9657',
      5: '5bcd818157d66aa6aeb0c8c57bdfba26346b23e939ec9744c0f428547893d2cd35dcac15097f42fe29cba8064f6db970',
      6: 'cf41a204d770a92b2fe37f15f8020a6d6babbca4e4c5b51f549612fff6e1f16962410f0592ef4f3166bc185822343d5a',
    } as const;
    for (const type of [1, 5, 6] as const) {
      const fields = { target: Buffer.alloc(0), anchor: Buffer.alloc(0), tagBytes: encodeTags(tags) };
      const message = signedMessage(messagePrefix(type, owner), fields, deepHashBlob(contents.data));
      assert.equal(message.toString('hex'), expected[type]);
    }
  });
});

test('every type signs what it verifies, and one changed byte anywhere spoils it', async () => {
  for (const [name, signer] of Object.entries(signers)) {
    const bytes = await signItem(contents, signer);
    assert.equal(verdict(bytes), 'valid', name);
    const header = read(bytes).header;
    const positions = [
      2,
      40,
      header.signatureEnd - 1,
      header.signatureEnd,
      header.ownerEnd - 1,
      header.length - 5,
    ];
    for (const at of [...positions, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      assert.notEqual(verdict(changed), 'valid', `${name}, byte ${at}`);
    }
  }
});

describe('what the reference library lets pass is refused', () => {
  test('an Ethereum recovery byte other than the right one of 27 and 28', async () => {
    for (const signer of [signers.ethereum, signers.typedEthereum]) {
      const bytes = await signItem(contents, signer);
      const vPosition = 2 + 64;
      assert.equal(bytes[vPosition], 27);
      for (const v of [0, 1, 2, 3, 26, 28, 29, 30, 31, 254, 255]) {
        const forged = Buffer.from(bytes);
        forged[vPosition] = v;
        assert.equal(verdict(forged), 'signature', `v ${v}`);
      }
    }
  });

  test('the ids that forged recovery bytes would make are the known ones', async () => {
    const forgedId = async (signer: (typeof signers)['ethereum']) => {
      const bytes = await signItem(contents, signer);
      bytes[66] = 255;
      return read(bytes).header.id;
    };
    assert.equal(await forgedId(signers.ethereum), 'bQvIdkc6lm2TbEYvBONhvo81d4CGTUVxbhA5uQAHU6o');
    assert.equal(await forgedId(signers.typedEthereum), 'GAtScPYC27LxM3p5T0BZImPtf63TctOyBDZWLG89Mqs');
  });

  test('raw recovery bytes pass only where the chain is read leniently', async () => {
    const bytes = await signItem(contents, signers.ethereum);
    bytes[66] = 0;
    assert.equal(verdict(bytes), 'signature');
    assert.equal(verdict(bytes, { lenient: true }), 'valid');
    bytes[66] = 1;
    assert.equal(verdict(bytes, { lenient: true }), 'signature');
  });

  test('a multi-signature of nobody', () => {
    const nobody: ItemHeaderSource & { data: Buffer } = {
      signatureType: 6,
      signature: Buffer.alloc(2_052),
      owner: Buffer.alloc(1_025),
      data: Buffer.from('x'),
    };
    assert.equal(verdict(encodeItem(nobody)), 'signature');
    const withThreshold = Buffer.alloc(1_025);
    withThreshold[1_024] = 1;
    assert.equal(verdict(encodeItem({ ...nobody, owner: withThreshold })), 'signature');
  });

  test('a multi-signature below its threshold, with stray bytes, or by a slot without key', async () => {
    const bytes = await signItem(contents, signers.multiAptos);
    const bitmap = 2 + 2_048;
    assert.equal(verdict(bytes), 'valid');
    const below = Buffer.from(bytes);
    below[bitmap]! &= 0x7f;
    below.fill(0, 2, 2 + 64);
    assert.equal(verdict(below), 'signature');
    const stray = Buffer.from(bytes);
    stray[2 + 31 * 64] = 1;
    assert.equal(verdict(stray), 'signature');
    const beyond = Buffer.from(bytes);
    beyond[bitmap]! |= 0x10;
    assert.equal(verdict(beyond), 'signature');
  });

  test('an Ed25519 key and signature that are valid for every message', () => {
    const identity = Buffer.alloc(32);
    identity[0] = 1;
    const signature = Buffer.concat([identity, Buffer.alloc(32)]);
    for (const signatureType of [2, 4, 5] as const) {
      const bytes = encodeItem({ signatureType, signature, owner: identity, data: Buffer.from('anything') });
      assert.equal(verdict(bytes), 'signature', `type ${signatureType}`);
    }
  });

  test('an Ed25519 signature with S + L', async () => {
    const bytes = await signItem(contents, signers.solana);
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const s = BigInt(`0x${Buffer.from(bytes.subarray(34, 66)).reverse().toString('hex')}`) + order;
    Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse().copy(bytes, 34);
    assert.equal(verdict(bytes), 'signature');
  });

  test('presence bytes other than 0 and 1', async () => {
    const bytes = await signItem(contents, signers.solana);
    const presence = 2 + 64 + 32;
    for (const value of [2, 128, 255]) {
      for (const [at, problem] of [
        [presence, 'target-presence'],
        [presence + 1, 'anchor-presence'],
      ] as const) {
        const changed = Buffer.from(bytes);
        changed[at] = value;
        assert.equal(verdict(changed), problem);
        assert.equal(verdict(changed, { lenient: true }), 'valid');
      }
    }
  });

  test('a stated number of tags that is not the number there is', async () => {
    const bytes = await signItem(contents, signers.solana);
    const counter = 2 + 64 + 32 + 2;
    for (const count of [0, 1, 3, 128]) {
      const changed = Buffer.from(bytes);
      changed[counter] = count;
      assert.equal(verdict(changed), 'tag-count');
    }
    const huge = Buffer.from(bytes);
    huge[counter + 7] = 1;
    assert.equal(verdict(huge), 'too-many-tags');
  });

  test('types that are not on the wire, and cut items', async () => {
    const bytes = await signItem(contents, signers.ethereum);
    for (const type of [0, 8, 9, 101, 256 + 3, 65_535]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt16LE(type);
      assert.equal(verdict(changed), 'unknown-signature-type');
    }
    for (const length of [0, 1, 2, 66, 131, 150, 191]) {
      assert.equal(verdict(bytes.subarray(0, length)), 'truncated', `${length} bytes`);
    }
  });

  test('a typed Ethereum owner that is no lower-case address', async () => {
    const signer = typedEthereumSigner(testEthereumKey);
    const upper = { ...signer, owner: Buffer.from(signer.owner.toString('latin1').toUpperCase()) };
    assert.equal(verdict(await signItem(contents, upper)), 'signature');
  });
});

test('owners are remembered by type and key', () => {
  const key = ed25519RawPublicKey(testEd25519Key);
  assert.equal(itemOwner(2, key), itemOwner(2, Buffer.from(key)));
  assert.notEqual(itemOwner(2, key), itemOwner(4, key));
});
