/** The Memo program: puts a text into the log, witnessed by whoever signs. */
import { fail } from '../runtime/errors.ts';
import type { Program } from '../runtime/invocation.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const memo: Program = {
  units: (data) => 1_000 + data.length * 10,
  run(call) {
    let missing = false;
    for (const meta of call.accounts) {
      if (meta.signer) call.log(`Signed by ${meta.address}`);
      else missing = true;
    }
    if (missing) fail('MissingRequiredSignature');
    let text: string;
    try {
      text = utf8.decode(call.data);
    } catch {
      call.log('Invalid UTF-8');
      fail('InvalidInstructionData');
    }
    call.log(`Memo (len ${call.data.length}): ${JSON.stringify(text)}`);
  },
};
