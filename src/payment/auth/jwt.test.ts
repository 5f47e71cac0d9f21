import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { issueToken, readToken, signToken } from './jwt.ts';

const now = 1_700_000_000;
const wallet = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';

describe('tokens', () => {
  it('are signed as the standard says', () => {
    const claims = { walletAddress: wallet, iat: now, exp: now + 3_600 };
    assert.equal(signToken('secret', claims).split('.')[2], 'vPiUufQoRKnptAhdzlGQstLAWANmZjZWlhP5WaDw3g4');
  });

  it('speak for their wallet for an hour', () => {
    const token = issueToken('secret', wallet, now);
    assert.equal(readToken('secret', token, now), wallet);
    assert.equal(readToken('secret', token, now + 3_599), wallet);
    assert.equal(readToken('secret', token, now + 3_600), undefined);
  });

  it('are refused when forged, for another purpose, or of another algorithm', () => {
    const token = issueToken('secret', wallet, now);
    const [head = '', body = '', signature = ''] = token.split('.');
    const other = Buffer.from(JSON.stringify({ walletAddress: 'x', exp: now + 10, aud: 'balance' }));
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
    const resigned = createHmac('sha256', 'secret').update(`${none}.${body}`).digest('base64url');
    for (const wrong of [
      '',
      'x',
      `${head}.${body}`,
      `${head}.${body}.`,
      `${head}.${body}.${signature}.`,
      `${head}.${other.toString('base64url')}.${signature}`,
      `${none}.${body}.`,
      `${none}.${body}.${resigned}`,
      `${head}.${body}.${signature.slice(0, -2)}`,
      signToken('secret', { walletAddress: wallet, exp: now + 10 }),
      signToken('secret', { walletAddress: wallet, exp: now + 10, aud: 'internal' }),
      signToken('secret', { walletAddress: wallet, exp: String(now + 10), aud: 'balance' }),
      signToken('secret', { exp: now + 10, aud: 'balance' }),
      token.padEnd(2_000, 'A'),
    ]) {
      assert.equal(readToken('secret', wrong, now), undefined, wrong);
    }
    assert.equal(readToken('other secret', token, now), undefined);
  });
});
