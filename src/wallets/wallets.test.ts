import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { parseItemHeader } from '../formats/ans104/item-header.ts';
import { addressKind, normalizeAddress, parseAddress } from './address.ts';
import { arweavePublicKey, exportJwk, importJwk, signPss, verifyPss } from './arweave/rsa.ts';
import { aptosText, hexText } from './data-items/owner.ts';
import {
  aptosSigner,
  arweaveSigner,
  ed25519Signer,
  ethereumSigner,
  signItem,
  solanaSigner,
  typedEthereumSigner,
} from './data-items/signer.ts';
import { publicKeyOf } from './ethereum/secp256k1.ts';
import { kyveAddress, parseKyveAddress } from './kyve-address.ts';
import {
  canonicalUuid,
  signatureHeaderHash,
  signedText,
  verifyRequestSignatureAsync,
} from './request-signature.ts';
import { isOnCurve, parseSolanaAddress, solanaAddress } from './solana/address.ts';
import {
  ed25519PrivateKey,
  ed25519PublicKey,
  ed25519RawPublicKey,
  signEd25519,
  verifyEd25519,
} from './solana/ed25519.ts';
import { testArweaveKey, testEd25519Key, testEthereumKey } from './testing/keys.ts';

const nonce = '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495';
const ethereum = {
  address: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
  publicKey: 'BE81W9y3zAr3KO88zrlhXZBoS7Wyyl-FmrDwtwQHWHGqOFtrG46tgJymdFTZaD_PK6A0Vtb-LEq-Kwfw-9uy8cE',
  signature: 'OOehclbrZf99MBVo9MUyU0CQxg_wu8oT2ppnuf5--VEu8iUDf5grL9AeBTCIUvNpmM1o8t8jlWg6F1UpLwpGyxs',
};
const solana = {
  address: 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB',
  publicKey: '6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw',
  raw: '0ZJMsxQitMGLbCCIxU62BVB8agsIwTPHh9VNC6s3zRZvd5h3uZakP4k0DQ65bodjL9oLX9wMIF-wgKoKFU2LCQ',
  hexText: 'qn2dJFDEye8QYwz82kmgNV4oXKKTuXExUFpkJPKsbBVTjOtnpkIWBlHFlabLrfngRJg9eFzwnlY4u_SkfSZHDQ',
};

describe('request signatures', () => {
  test('an Ethereum wallet is known by its signature, with and without a stated type', async () => {
    const { publicKey, signature, address } = ethereum;
    for (const signatureType of ['3', undefined]) {
      assert.deepEqual(await verifyRequestSignatureAsync({ publicKey, signature, nonce, signatureType }), {
        kind: 'ethereum',
        address,
      });
    }
  });

  test('Ethereum keys may be hex or compressed, and the recovery byte 0 or 1', async () => {
    const full = Buffer.from(ethereum.publicKey, 'base64url');
    const compressed = Buffer.concat([Buffer.from([2 + (full[64]! & 1)]), full.subarray(1, 33)]);
    const raw = Buffer.from(ethereum.signature, 'base64url');
    raw[64]! -= 27;
    for (const publicKey of [
      `0x${full.toString('hex')}`,
      `0x${compressed.toString('hex')}`,
      compressed.toString('base64url'),
    ]) {
      for (const signature of [ethereum.signature, raw.toString('base64url')]) {
        assert.equal(
          (await verifyRequestSignatureAsync({ publicKey, signature, nonce }))?.address,
          ethereum.address,
        );
      }
    }
  });

  test('a Solana wallet may sign the nonce or its hex text; raw Ed25519 only the nonce', async () => {
    const { publicKey, raw, hexText, address } = solana;
    const wallet = async (signature: string, signatureType?: string) =>
      (await verifyRequestSignatureAsync({ publicKey, signature, nonce, signatureType }))?.address;
    assert.equal(await wallet(raw), address);
    assert.equal(await wallet(hexText), address);
    assert.equal(await wallet(hexText, '4'), address);
    assert.equal(await wallet(raw, '2'), address);
    assert.equal(await wallet(hexText, '2'), undefined);
  });

  test('an Arweave wallet may use any salt length, and may hash the nonce first', async () => {
    const { modulus, privateKey, address } = testArweaveKey;
    const publicKey = modulus.toString('base64url');
    for (const saltLength of [0, 32, 478]) {
      const signature = (await signPss(privateKey, Buffer.from(nonce), saltLength)).toString('base64url');
      assert.deepEqual(await verifyRequestSignatureAsync({ publicKey, signature, nonce }), {
        kind: 'arweave',
        address,
      });
    }
    const digest = hash('sha256', Buffer.from(nonce), 'buffer');
    const signature = (await signPss(privateKey, digest, 32)).toString('base64');
    assert.equal(
      (await verifyRequestSignatureAsync({ publicKey, signature, nonce, signatureType: '1' }))?.address,
      address,
    );
  });

  test('a bound request is signed as lines, and holds for the request that it names alone', async () => {
    const boundTo = {
      service: testArweaveKey.address,
      method: 'POST',
      path: '/v1/arns/actions/buy-name?name=a',
      contentDigest: 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:',
    };
    const text = signedText({ nonce, boundTo });
    assert.equal(
      text,
      `turnpike request\n${testArweaveKey.address}\nPOST\n/v1/arns/actions/buy-name?name=a\n` +
        `sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\n${nonce}`,
    );
    const signature = signEd25519(testEd25519Key, Buffer.from(text)).toString('base64url');
    const publicKey = ed25519RawPublicKey(testEd25519Key).toString('base64url');
    const request = { publicKey, signature, nonce };
    assert.ok((await verifyRequestSignatureAsync({ ...request, boundTo })) !== undefined);
    assert.equal(await verifyRequestSignatureAsync(request), undefined);
    for (const other of [
      { ...boundTo, service: ethereum.address },
      { ...boundTo, method: 'GET' },
      { ...boundTo, path: '/v1/arns/actions/buy-name?name=b' },
      { ...boundTo, contentDigest: '' },
    ]) {
      assert.equal(await verifyRequestSignatureAsync({ ...request, boundTo: other }), undefined);
    }
    assert.equal(await verifyRequestSignatureAsync({ ...request, nonce: 'other', boundTo }), undefined);
  });

  test('the bound request of docs/names.md holds', async () => {
    const wallet = await verifyRequestSignatureAsync({
      publicKey: solana.publicKey,
      nonce: '11111111-1111-4111-8111-111111111111',
      signature: 'I29WrDAOcnKtJOU36ypbyehbIBo5gmUcWFU9veGAiZukKmr8zcaP_82__fj-nc0dz_xLKA8OGCLIiunViL1CCw',
      signatureType: '4',
      boundTo: {
        service: 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM',
        method: 'POST',
        path: '/v1/arns/actions/extend-lease',
        contentDigest: `sha-256=:${hash('sha256', '{"name":"my-name","years":1}', 'base64')}:`,
      },
    });
    assert.equal(wallet?.address, solana.address);
  });

  test('a UUID has one form, whatever letter case it is sent in', () => {
    const uuid = 'abcdefab-1111-4111-8111-abcdefabcdef';
    assert.equal(canonicalUuid(uuid.toUpperCase()), uuid);
    for (const wrong of [
      '',
      nonce,
      `${uuid}0`,
      ` ${uuid}`,
      `${uuid}\n`,
      uuid.replaceAll('-', ''),
      `{${uuid}}`,
    ]) {
      assert.equal(canonicalUuid(wrong), undefined, wrong);
    }
  });

  test('a signature has one name in every encoding that is taken', async () => {
    const bytes = Buffer.from(ethereum.signature, 'base64url');
    const raw = Buffer.from(bytes);
    raw[64]! -= 27;
    const names = [bytes, raw].flatMap((form) =>
      [form.toString('base64url'), form.toString('base64'), `${form.toString('base64url')}=`].map(
        signatureHeaderHash,
      ),
    );
    assert.equal(new Set(names).size, 1);
    // The other s of the same signature, and an S above the order, are taken from nobody.
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const s = BigInt(`0x${bytes.subarray(32, 64).toString('hex')}`);
    const high = Buffer.concat([
      bytes.subarray(0, 32),
      Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex'),
      Buffer.from([bytes[64] === 27 ? 28 : 27]),
    ]);
    const { publicKey } = ethereum;
    const mirrored = { publicKey, nonce, signature: high.toString('base64url') };
    assert.equal(await verifyRequestSignatureAsync(mirrored), undefined);
    const group = 2n ** 252n + 27742317777372353535851937790883648493n;
    const ed = Buffer.from(solana.raw, 'base64url');
    const scalar = BigInt(`0x${Buffer.from(ed.subarray(32)).reverse().toString('hex')}`) + group;
    const grown = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();
    const signature = Buffer.concat([ed.subarray(0, 32), grown]).toString('base64url');
    assert.equal(
      await verifyRequestSignatureAsync({ publicKey: solana.publicKey, nonce, signature }),
      undefined,
    );
  });

  test('nothing that a published item shows is a signed request', async () => {
    const signers = [
      arweaveSigner(testArweaveKey),
      arweaveSigner(testArweaveKey, { saltLength: 0 }),
      ed25519Signer(testEd25519Key),
      ethereumSigner(testEthereumKey),
      solanaSigner(testEd25519Key),
      aptosSigner(testEd25519Key),
      typedEthereumSigner(testEthereumKey),
    ];
    const tags = [
      { name: 'x-approve-payment', value: ethereum.address },
      { name: 'x-amount', value: '1' },
    ];
    for (const signer of signers) {
      let message: Buffer = Buffer.alloc(0);
      const noted = {
        ...signer,
        sign(bytes: Buffer) {
          message = bytes;
          return signer.sign(bytes);
        },
      };
      const bytes = await signItem({ data: Buffer.from('public'), tags }, noted);
      const header = parseItemHeader(bytes);
      assert.ok(typeof header !== 'string' && message.length === 48);
      const digest = hash('sha256', message, 'buffer');
      const texts = [
        message.toString('hex'),
        message.toString('hex').toUpperCase(),
        message.toString('latin1'),
        message.toString('utf8'),
        message.toString('base64url'),
        digest.toString('hex'),
        digest.toString('latin1'),
        header.id,
        aptosText(message).toString('latin1'),
        hexText(message).toString('latin1'),
        Buffer.from(message.toString('hex')).toString('hex'),
      ];
      const keys = [header.owner, Buffer.from(publicKeyOf(testEthereumKey))];
      for (const text of texts) {
        for (const key of keys) {
          for (const signatureType of ['1', '2', '3', '4', undefined]) {
            const found = await verifyRequestSignatureAsync({
              publicKey: key.toString('base64url'),
              signature: header.signature.toString('base64url'),
              nonce: text,
              signatureType,
            });
            assert.equal(found, undefined, `type ${signer.signatureType}: ${text}`);
          }
        }
      }
    }
  });

  test('wrong nonces, types, keys and texts are nobody', async () => {
    const { publicKey, signature } = ethereum;
    const good = { publicKey, signature, nonce };
    for (const wrong of [
      { ...good, nonce: `${nonce}0` },
      { ...good, nonce: '' },
      ...['n'.repeat(65), 'a b', 'a\n', 'ä', 'a/b', 'a,b', '\u0000'].map((text) => ({
        ...good,
        nonce: text,
      })),
      { ...good, signatureType: '4' },
      { ...good, signatureType: '101' },
      { ...good, signatureType: '03' },
      { ...good, signatureType: '' },
      { ...good, publicKey: solana.publicKey },
      { ...good, publicKey: '' },
      { ...good, publicKey: '!!' },
      { ...good, publicKey: 'A'.repeat(683) },
      { ...good, publicKey: 'A'.repeat(100_000) },
      { ...good, signature: '' },
      { ...good, signature: 'AA' },
      { ...good, signature: `${signature}\u0000` },
    ]) {
      assert.equal(await verifyRequestSignatureAsync(wrong), undefined, JSON.stringify(wrong).slice(0, 200));
    }
  });

  test('random fields never throw', async () => {
    const random = seededRandom(21);
    const lengths = [0, 1, 32, 33, 64, 65, 511, 512, 513];
    for (let round = 0; round < 10_000; round++) {
      const found = await verifyRequestSignatureAsync({
        publicKey: random.bytes(random.pick(lengths)).toString('base64url'),
        signature: random.bytes(random.pick([0, 64, 65, 512])).toString('base64url'),
        nonce,
        signatureType: random.pick(['1', '2', '3', '4', '5', undefined, undefined, undefined]),
      });
      assert.equal(found, undefined);
    }
  });
});

describe('addresses', () => {
  test('each kind is known by its form and brought to its normal form', () => {
    const arweave = testArweaveKey.address;
    assert.deepEqual(parseAddress(arweave), { kind: 'arweave', address: arweave });
    assert.equal(normalizeAddress(ethereum.address.toLowerCase()), ethereum.address);
    assert.equal(addressKind(ethereum.address), 'ethereum');
    assert.equal(addressKind(solana.address), 'solana');
    for (const wrong of ['', 'hello', `${arweave}A`, arweave.slice(1), `${arweave.slice(0, 42)}B`, '0x12']) {
      assert.equal(parseAddress(wrong), undefined, wrong);
    }
    assert.equal(parseAddress(ethereum.address, 'solana'), undefined);
  });

  test('a text that is both an Arweave and a Solana address is Arweave unless the kind is given', () => {
    const random = seededRandom(22);
    let both: string | undefined;
    while (both === undefined) {
      const text = solanaAddress(Buffer.concat([Buffer.from([random.below(12)]), random.bytes(31)]));
      if (text.length === 43 && parseAddress(text, 'arweave') && parseAddress(text, 'solana')) both = text;
    }
    assert.equal(addressKind(both), 'arweave');
    assert.deepEqual(parseAddress(both, 'solana'), { kind: 'solana', address: both });
  });

  test('Solana addresses are points of the curve', () => {
    for (let seed = 0; seed < 20; seed++) {
      const key = ed25519RawPublicKey(ed25519PrivateKey(Buffer.alloc(32, seed)));
      assert.ok(isOnCurve(key));
      assert.equal(parseSolanaAddress(solanaAddress(key)), solanaAddress(key));
    }
    const random = seededRandom(23);
    const on = Array.from({ length: 200 }, () => random.bytes(32)).filter((bytes) => isOnCurve(bytes)).length;
    assert.ok(on > 60 && on < 140, `about half of all byte strings are points, here ${on} of 200`);
    assert.equal(isOnCurve(Buffer.alloc(32, 0xff)), false);
    assert.equal(parseSolanaAddress('0'.repeat(44)), undefined);
  });

  test('KYVE addresses are bech32 of the key', () => {
    const address = kyveAddress(publicKeyOf(Buffer.alloc(32, 0x11)));
    assert.match(address, /^kyve1[0-9a-z]{38}$/);
    assert.equal(parseKyveAddress(address), address);
    assert.equal(addressKind(address), 'kyve');
    const last = address.at(-1) === 'q' ? 'p' : 'q';
    assert.equal(parseKyveAddress(address.slice(0, -1) + last), undefined);
  });
});

describe('keys', () => {
  test('an RSA wallet survives export and import', async () => {
    const again = importJwk(JSON.stringify(exportJwk(testArweaveKey)));
    assert.equal(again.address, testArweaveKey.address);
    assert.ok(again.modulus.toString('hex').startsWith('edb621cd4eedafff6e4e349ace481f81'));
    const signature = await signPss(again.privateKey, Buffer.from('m'));
    const key = arweavePublicKey(again.modulus);
    assert.ok(key !== undefined);
    assert.equal(verifyPss(key, Buffer.from('m'), signature), true);
    assert.equal(verifyPss(key, Buffer.from('n'), signature), false);
  });

  test('what is no private RSA key is refused with a sentence', () => {
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      '{"kty":"RSA"}',
      JSON.stringify({ ...exportJwk(testArweaveKey), n: 'AQAB' }),
    ]) {
      assert.throws(() => importJwk(text), /^Error: the key /);
    }
  });

  test('moduli that can be none are refused', () => {
    assert.equal(arweavePublicKey(Buffer.alloc(512)), undefined);
    assert.equal(arweavePublicKey(Buffer.alloc(511, 0xff)), undefined);
    assert.equal(arweavePublicKey(Buffer.alloc(512, 0xfe)), undefined);
  });

  test('Ed25519 keys of small order and in non-canonical form are refused', () => {
    for (const hex of [
      '00'.repeat(32),
      `01${'00'.repeat(31)}`,
      `01${'00'.repeat(30)}80`,
      `ec${'ff'.repeat(30)}7f`,
      `ed${'ff'.repeat(30)}7f`,
      `ff${'ff'.repeat(30)}ff`,
      'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
    ]) {
      assert.equal(ed25519PublicKey(Buffer.from(hex, 'hex')), undefined, hex);
    }
    const key = ed25519PublicKey(ed25519RawPublicKey(testEd25519Key));
    assert.ok(key !== undefined);
    const signature = signEd25519(testEd25519Key, Buffer.from('m'));
    assert.equal(verifyEd25519(key, Buffer.from('m'), signature), true);
    assert.equal(verifyEd25519(key, Buffer.from('m'), signature.subarray(1)), false);
  });
});
