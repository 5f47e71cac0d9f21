/** The example of a signed payment that several tests share: key 32 × 11, Base Sepolia, one dollar. */
export const examplePayment = {
  payer: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
  privateKey: Buffer.alloc(32, 0x11),
  payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
  authorization: {
    from: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
    to: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
    value: 1_000_000n,
    validAfter: 0n,
    validBefore: 4_102_444_800n,
    nonce: `0x${'ab'.repeat(32)}`,
  },
  digest: '8ac6a4a1c8178bac26f8f8501ecd58ff8caf07d5d8dad71b2370fbc8b45eabd3',
  signature:
    '0x3e80517c48b8b06148ca45c904aa40869feb4c80a15f5e462c6fa768e900ae023015984a05a5a036d88bdfd56f74296fa6a97428befa24af58b96f70f062a4591b',
};

export const encodeHeader = (value: unknown) =>
  Buffer.from(
    JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? member.toString() : member)),
  ).toString('base64');
