import assert from 'node:assert/strict';
import { test } from 'node:test';
import { antError, arnsError, programError } from './program-errors.ts';

test('error codes are those of the public programs', () => {
  const arns = {
    InvalidNameFormat: 6000,
    AlreadyPermanent: 6009,
    LeaseExpired: 6010,
    InvalidLeaseDuration: 6011,
    CannotExtendPermanent: 6012,
    ExtensionExceedsMax: 6013,
    InGracePeriod: 6014,
    RecordExpired: 6015,
    InvalidUndernameQuantity: 6016,
    AuctionActive: 6021,
    NameReserved: 6023,
    NotAntHolder: 6028,
    Unauthorized: 6029,
    ArithmeticOverflow: 6033,
    InvalidTreasury: 6038,
    InvalidParameter: 6039,
    InvalidAntAsset: 6041,
  } as const;
  const ant = {
    Unauthorized: 6000,
    UnauthorizedRecordAccess: 6001,
    InvalidUndername: 6002,
    InvalidTarget: 6004,
    InvalidTtl: 6007,
    RecordNotFound: 6008,
    RecordHasNoOwner: 6009,
    RecordTransferToSelf: 6010,
    ControllerAlreadyExists: 6011,
    ControllerNotFound: 6012,
    MaxControllersReached: 6013,
    NameTooLong: 6014,
    NameEmpty: 6015,
    DescriptionTooLong: 6016,
    InvalidKeyword: 6019,
    InvalidLogo: 6021,
    CannotChangePriorityOfRoot: 6022,
    OnlyOwnerOrControllerCanCreate: 6024,
    InvalidAsset: 6025,
    NotNftHolder: 6026,
    CannotRemoveRootRecord: 6027,
    TickerTooLong: 6028,
    AclEntryAlreadyExists: 6038,
    AclEntryNotFound: 6039,
    AclPageFull: 6040,
    NotCurrentOwner: 6049,
    NotCurrentController: 6050,
    TransferToSelf: 6053,
    InvalidArnsRecord: 6054,
  } as const;
  for (const [name, code] of Object.entries(arns)) assert.equal(programError('arns', code)?.name, name);
  for (const [name, code] of Object.entries(ant)) assert.equal(programError('ant', code)?.name, name);
  assert.equal(arnsError('NameReserved').code, 6023);
  assert.equal(antError('InvalidArnsRecord').code, 6054);
  assert.equal(programError('ant', 5999), undefined);
  assert.equal(programError('arns', 9999), undefined);
});
