/** GET /redeem: whoever has the receipt or quote of a gift, and its email address, takes its credits. */
import { Type } from 'typebox';
import type { App } from '../../kernel/http/app.ts';
import { type AddressKind, addressKinds, parseAddress } from '../../wallets/address.ts';
import { neverCache, sendExact } from '../answers.ts';
import { giftAddressInvalid, giftEmailInvalid, giftFailure } from '../errors.ts';
import { type Gifts, isEmail } from '../gifts.ts';
import { errorText, winc } from '../schemas.ts';

export interface RedeemDeps {
  readonly gifts: Gifts;
  /** Wallets that get nothing. */
  readonly refuses?: ((address: string) => boolean) | undefined;
}

export function redeemRoute(app: App, { gifts, refuses }: RedeemDeps): void {
  app.get(
    '/redeem',
    {
      schema: {
        summary: 'Redeem credits that were given to an email address',
        querystring: Type.Object({
          id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,100}$' }),
          email: Type.String({ maxLength: 300 }),
          destinationAddress: Type.String({ maxLength: 200 }),
          token: Type.Optional(Type.String()),
        }),
        response: {
          200: Type.Object({
            message: Type.String(),
            userBalance: winc,
            userAddress: Type.String(),
            userCreationDate: Type.String(),
          }),
          400: errorText,
          429: errorText,
          503: errorText,
        },
      },
      config: {
        actsOnGet: true,
        clientLimit: 'redemption',
        invalid: () => giftFailure().body,
        databaseDown: 'Error while redeeming payment receipt. Unable to reach Database!',
      },
    },
    async ({ query }, reply) => {
      const { id, email, destinationAddress, token } = query;
      const wallet = parseAddress(destinationAddress, kindOf(token));
      if (wallet === undefined || refuses?.(wallet.address)) throw giftAddressInvalid();
      if (!isEmail(email)) throw giftEmailInvalid();
      const redeemed = await gifts.redeem({
        id,
        email,
        wallet: { address: wallet.address, addressType: wallet.kind },
      });
      const answer = {
        message: `Payment receipt redeemed for ${redeemed.amount} winc!`,
        userBalance: (redeemed.balance < 0n ? 0n : redeemed.balance).toString(),
        userAddress: wallet.address,
        userCreationDate: new Date(redeemed.accountCreatedAt).toISOString(),
      };
      sendExact(reply, answer, neverCache);
    },
  );
}

/** A token names the kind of its addresses; without one any kind is read. */
function kindOf(token: string | undefined): AddressKind | undefined {
  return addressKinds.find((kind) => kind === token);
}
