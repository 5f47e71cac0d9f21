/** Twenty bytes by which a peer is known for one run (BEP 20): the program, its version, and chance. */
export function peerIdOf(chance: Buffer): Buffer {
  return Buffer.concat([Buffer.from('-TP0100-'), chance.subarray(0, 12)]);
}
