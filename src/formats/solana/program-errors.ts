/**
 * The error codes of the name programs: 6000 and up, in the order the programs list them. The names are theirs;
 * the sentences are for the person who reads an answer.
 */

const arnsErrors = {
  InvalidNameFormat: 'The name is not a valid ArNS name',
  NameTooShort: 'The name is too short',
  NameTooLong: 'The name is longer than 51 characters',
  InvalidCharacters: 'The name has characters that names may not have',
  ForbiddenNameLength: 'A name may not have the length of a transaction id',
  NameAlreadyRegistered: 'The name is registered already',
  NameStillActive: 'The name is still active',
  InsufficientFunds: 'Not enough tokens to pay for the name',
  NotALease: 'The name is not leased',
  AlreadyPermanent: 'The name is permanent already',
  LeaseExpired: 'The lease has expired',
  InvalidLeaseDuration: 'A lease runs for 1 to 5 years',
  CannotExtendPermanent: 'A permanent name cannot be extended',
  ExtensionExceedsMax: 'The lease would run for more than 5 years',
  InGracePeriod: 'The lease is in its grace period',
  RecordExpired: 'The registration has expired',
  InvalidUndernameQuantity: 'The number of undernames must be at least 1',
  InvalidAnt: 'The ANT cannot take this name',
  NotProcessOwner: 'Only the owner of the ANT may reassign the name',
  CannotReleaseLease: 'A leased name cannot be released',
  NameNotReturned: 'The name is not in auction',
  AuctionActive: 'The name is in a returned-name auction',
  NameNotExpired: 'The name has not expired',
  NameReserved: 'The name is reserved',
  NotReservationHolder: 'The name is reserved for somebody else',
  ReservationExpired: 'The reservation has expired',
  ReservationNotExpired: 'The reservation has not expired',
  NotOwner: 'Only the owner of the name may do this',
  NotAntHolder: 'Only the holder of the ANT may do this',
  Unauthorized: 'Only the registry authority may do this',
  RegistryFull: 'The registry is full',
  NameRegistryAlreadyExists: 'The registry exists already',
  NameNotInRegistry: 'The name is not in the registry',
  ArithmeticOverflow: 'A number grew too large',
  ArithmeticUnderflow: 'A number fell below zero',
  GatewayNotActive: 'The gateway is not active',
  NotGatewayOperator: 'The signer does not operate the gateway',
  InvalidGatewayProgram: 'The gateway belongs to another program',
  InvalidTreasury: 'The payment must go to the registry treasury',
  InvalidParameter: 'A parameter is not valid',
  DemandFactorNotReady: 'The demand factor is not due for an update',
  InvalidAntAsset: 'The ANT is not a valid asset',
  MigrationInactive: 'No migration is running',
  MigrationAlreadyFinalized: 'The migration is over',
  InvalidAccountData: 'The account data is not valid',
  InvalidPda: 'The account is not where it should be',
  MigrationExpired: 'The migration deadline has passed',
} as const;

const antErrors = {
  Unauthorized: 'Only the owner or a controller of the ANT may do this',
  UnauthorizedRecordAccess: 'Only the owner, a controller or the record owner may change this record',
  InvalidUndername: 'The undername is not valid',
  UndernameTooLong: 'The undername is longer than 61 characters',
  InvalidTarget: 'The target is not valid for its protocol',
  UnsupportedProtocol: 'The target protocol is not supported',
  TargetTooLong: 'The target is longer than 128 characters',
  InvalidTtl: 'The TTL must be 60 to 86400 seconds',
  RecordNotFound: 'The record does not exist',
  RecordHasNoOwner: 'The record has no owner',
  RecordTransferToSelf: 'The record has this owner already',
  ControllerAlreadyExists: 'The address is a controller already',
  ControllerNotFound: 'The address is not a controller',
  MaxControllersReached: 'An ANT has at most 4 controllers',
  NameTooLong: 'The display name is longer than 61 characters',
  NameEmpty: 'The display name is empty',
  DescriptionTooLong: 'The description is longer than 128 characters',
  TooManyKeywords: 'At most 3 keywords are kept',
  KeywordTooLong: 'A keyword is longer than 32 characters',
  InvalidKeyword: 'A keyword is not valid',
  DuplicateKeyword: 'A keyword is given twice',
  InvalidLogo: 'The logo must be a transaction id of 43 characters',
  CannotChangePriorityOfRoot: 'The root record always has priority 0',
  PriorityRequiresOwnerOrController: 'Only the owner or a controller may set a priority',
  OnlyOwnerOrControllerCanCreate: 'Only the owner or a controller may create records',
  InvalidAsset: 'The ANT is not a Metaplex Core asset',
  NotNftHolder: 'Only the holder of the ANT may do this',
  CannotRemoveRootRecord: 'The root record cannot be removed',
  TickerTooLong: 'The ticker must be 1 to 16 characters',
  TickerEmpty: 'The ticker is empty',
  MigrationInactive: 'No migration is running',
  MigrationAlreadyFinalized: 'The migration is over',
  InvalidAccountData: 'The account data is not valid',
  InvalidPda: 'The account is not where it should be',
  AlreadyLatestVersion: 'The ANT has the latest version already',
  UnknownSchemaVersion: 'The ANT has an unknown version',
  MigrationExpired: 'The migration deadline has passed',
  RecordStillExists: 'The record still exists',
  AclEntryAlreadyExists: 'The entry is in the list already',
  AclEntryNotFound: 'The entry is not in the list',
  AclPageFull: 'The page of the list is full',
  AclConfigNotEmpty: 'The list still has pages',
  AclPageNotEmpty: 'The page still has entries',
  AclPageNotLast: 'Only the last page can be closed',
  AclPageUserMismatch: 'The page belongs to somebody else',
  AclPageIndexMismatch: 'The page has another index',
  AclPageOutOfBounds: 'The list has no such page',
  AclConfigUserMismatch: 'The list belongs to somebody else',
  AclUnknownRole: 'The role is not known',
  NotCurrentOwner: 'The address does not own the ANT',
  NotCurrentController: 'The address does not control the ANT',
  StillCurrentOwner: 'The address still owns the ANT',
  StillCurrentController: 'The address still controls the ANT',
  TransferToSelf: 'The address owns the ANT already',
  InvalidArnsRecord: 'The name record does not belong to this ANT',
} as const;

export type ArnsErrorName = keyof typeof arnsErrors;
export type AntErrorName = keyof typeof antErrors;

const firstCode = 6000;
const arnsNames = Object.keys(arnsErrors);
const antNames = Object.keys(antErrors);

export interface ProgramError {
  readonly name: string;
  readonly code: number;
  readonly message: string;
}

export function arnsError(name: ArnsErrorName): ProgramError {
  return { name, code: firstCode + arnsNames.indexOf(name), message: arnsErrors[name] };
}

export function antError(name: AntErrorName): ProgramError {
  return { name, code: firstCode + antNames.indexOf(name), message: antErrors[name] };
}

/** The error behind a code of one of the name programs. */
export function programError(program: 'arns' | 'ant', code: number): ProgramError | undefined {
  const entry = Object.entries(program === 'arns' ? arnsErrors : antErrors)[code - firstCode];
  return entry === undefined ? undefined : { name: entry[0], code, message: entry[1] };
}
