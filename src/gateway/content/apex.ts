/** What `GET /` shows in place of the gateway's info (interface §4.4): nothing, an id's content or a name's. */
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isTxId } from '../../formats/base64url.ts';
import { StartupError } from '../../kernel/errors.ts';
import { isNameLabel } from './names/host.ts';

/** Throws where the settings cannot be meant: a person has to see to it. */
export function apexOf(config: {
  readonly APEX_TX_ID: string | undefined;
  readonly APEX_ARNS_NAME: string | undefined;
  readonly ARNS_NOT_FOUND_TX_ID: string | undefined;
}) {
  const { APEX_TX_ID: apexId, APEX_ARNS_NAME: apexName } = config;
  if (apexId !== undefined && apexName !== undefined) {
    throw new StartupError('APEX_TX_ID and APEX_ARNS_NAME exclude each other: set one');
  }
  for (const name of ['APEX_TX_ID', 'ARNS_NOT_FOUND_TX_ID'] as const) {
    const id = config[name];
    if (id !== undefined && !isTxId(id)) throw new StartupError(`${name} is not an id: ${id}`);
  }
  const label = apexName === undefined ? undefined : asciiLowerCase(apexName);
  if (label !== undefined && !isNameLabel(label))
    throw new StartupError(`APEX_ARNS_NAME is not a name: ${apexName}`);
  return { apexId, apexName: label };
}
